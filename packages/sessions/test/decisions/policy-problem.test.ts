import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { PolicyBook, type SessionStatus } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { eventsOf, useHostWorld } from '../support/host-world.ts'
import { init, ScriptedHarness } from '../support/scripted-harness.ts'
import { permissionRequest } from './permission-request.ts'

const world = useHostWorld()

test('a session that asks because its policy file is broken says so in its status, until it is answered', async () => {
  const { project: own } = new PolicyBook({ home: world.data }).places(world.project)
  mkdirSync(dirname(own), { recursive: true })
  writeFileSync(own, 'allow Bash(ls)\nalow Bash(pwd)\n')
  const harness = new ScriptedHarness([
    async function* ({ session: { id: sessionId }, message, opts }) {
      const request = permissionRequest({ sessionId })
      yield { type: 'turn:start', sessionId, message }
      yield init(sessionId)
      yield request
      const answer = await opts.decide?.(request, new AbortController().signal)
      const outcome = answer?.behavior === 'allow' ? 'allowed' : 'denied'
      yield { type: 'permission:resolved', sessionId, requestId: 'r1', outcome, by: 'person' }
      yield { type: 'turn:end', sessionId, reason: 'completed' }
    },
  ])
  const host = world.host([harness])
  const { id } = await host.createSession(world.project)
  const told = new Promise<SessionStatus>(resolve => {
    host.onStatus(status => status.policyProblem !== null && resolve(status))
  })
  const session = await host.session(id)
  await session.start('Go')
  const status = await told
  expect(status.policyProblem).toContain(`${own}:2: `)
  expect(status.pending).toMatchObject([{ requestId: 'r1' }])
  host.decisions.answer(id, 'r1', { behavior: 'allow' })
  await session.settled()
  expect(session.status.policyProblem).toBeNull()
  // Whoever reads the log, as `chirality run` does, is told as the turn begins, and once.
  const notices = eventsOf(session).flatMap(event => (event.type === 'status' ? [event.message] : []))
  expect(notices).toEqual([
    expect.stringContaining(`No rule allows anything while a policy has an error: ${own}:2: `),
  ])
})
