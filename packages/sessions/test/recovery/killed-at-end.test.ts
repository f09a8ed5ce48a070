import { appendFileSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import type { Envelope } from '@chirality/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { HostProgramOptions } from '../programs/host-program.ts'
import { bundleHostProgram, HostProgram } from '../support/host-program.ts'
import { envelopesOf, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()
let program: Awaited<ReturnType<typeof bundleHostProgram>>
beforeAll(async () => {
  program = await bundleHostProgram()
})
afterAll(() => program.remove())

// The end of the turn is in the log, the harness has removed its notes, and the record of the turn is still there.
test('Codex, and the host is killed between the end of a turn and its record: every event is in the log once', async () => {
  const model = await world.model({ answers: ['First answer.', 'Second answer.', 'Third answer.'] })
  const first = world.host([world.codex(model)])
  const { id } = await first.createSession(world.project, { harness: 'codex' })
  const session = await first.session(id)
  await session.send('One')
  await session.settled()
  await first.close()

  const { binaryPath: binary, environment, ...codex } = world.codexConfig(model)
  const options: HostProgramOptions = {
    project: world.project,
    data: world.data,
    sessionId: id,
    binary,
    environment,
    codex,
    keepAlive: true,
    message: 'Two',
    dieAtEnd: true,
  }
  expect(await new HostProgram(program.file, options).exited).toBe('SIGKILL')
  expect(readdirSync(world.file('state', 'turns'))).toHaveLength(1)
  // After its end an adopted turn tells nothing of this type again.
  const log = world.file('events', `${id}.ndjson`)
  const ended = JSON.parse(readFileSync(log, 'utf8').trim().split('\n').at(-1) ?? '') as Envelope
  const late = { ...ended, seq: ended.seq + 1, event: { type: 'native:unknown', raw: 'late' } }
  appendFileSync(log, JSON.stringify(late).slice(0, -5))
  rmSync(world.file('events', `${id}.idx`), { force: true })

  const next = world.host([world.codex(model)])
  await next.openProject(world.project)
  const again = await next.session(id)
  await again.settled()
  const turns = new Map<string | null, string[]>()
  for (const { turnId, event } of envelopesOf(again))
    turns.set(turnId, [...(turns.get(turnId) ?? []), event.type])
  const [, killed = []] = [...turns.values()]
  for (const type of ['turn:start', 'session:init', 'chat:complete', 'session:complete', 'turn:end'])
    expect
      .soft(
        killed.filter(other => other === type),
        type,
      )
      .toHaveLength(1)
  expect(killed.filter(type => type === 'session:error')).toEqual([])
  expect(turns.get(null)).toContain('log:gap')
  expect(readdirSync(world.file('state', 'turns'))).toEqual([])

  await again.send('Three')
  await again.settled()
  expect(
    envelopesOf(again).flatMap(({ event }) => (event.type === 'chat:complete' ? event.text : [])),
  ).toEqual(['First answer.', 'Second answer.', 'Third answer.'])
})
