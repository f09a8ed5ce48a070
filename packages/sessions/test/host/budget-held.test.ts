import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope, UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import type { NewSession } from '../../src/host/host-options.ts'
import { SessionFold } from '../../src/store/fold-session.ts'
import { newSession } from '../../src/store/stored-session.ts'
import { eventsOf, useHostWorld } from '../support/host-world.ts'
import { answers, init, ScriptedHarness, waits } from '../support/scripted-harness.ts'
import { calls, prices, spends, works } from '../support/spending.ts'

const world = useHostWorld()

function budgetJson() {
  return JSON.parse(readFileSync(world.file('state', 'budget.json'), 'utf8'))
}

test('time is a budget too: an agent that says nothing is stopped when the time of its session, persona or project is up', async () => {
  mkdirSync(join(world.project, 'agents'))
  writeFileSync(join(world.project, 'agents', 'AGENT_QUICK.md'), '---\nbudget_minutes: 0.001\n---\nHurry.\n')
  const hangs = waits(undefined, id => [calls(id, 'endless')])
  const host = world.host([new ScriptedHarness([hangs, hangs, answers('Done.'), hangs])], { prices })
  const run = async (options: NewSession) => {
    const { id } = await host.createSession(world.project, options)
    const session = await host.session(id)
    await session.start('Go')
    await session.settled()
    return session
  }
  const session = await run({ budgetMinutes: 0.001 })
  expect(session.status).toMatchObject({ lastTurn: 'budget', budgetMinutes: 0.001 })
  expect(session.status.workedMs).toBeGreaterThanOrEqual(60)
  expect(eventsOf(session).filter(event => event.type === 'budget' && event.exceeded)).toMatchObject([
    { scope: 'session', limitMs: 60 },
  ])
  await expect(session.start('More')).rejects.toMatchObject({
    code: 'budget',
    message: expect.stringMatching(/used up: \d+ ms of 60 ms.*chirality budget set/),
  })
  expect((await run({ persona: 'QUICK' })).status.lastTurn).toBe('budget')
  await session.setBudget({ minutes: null })
  await session.start('More')
  await session.settled()
  expect(session.status).toMatchObject({ lastTurn: 'completed', budgetMinutes: null })
  const { total_minutes } = budgetJson()
  expect(total_minutes).toBeGreaterThan(0.002)
  await host.budgets.setLimits(world.project, { max_minutes: total_minutes + 0.001 })
  expect((await run({})).status.lastTurn).toBe('budget')
  await expect(run({})).rejects.toMatchObject({ code: 'budget' })
})

test('the time that a person is waited for does not count', () => {
  const sessionId = 's1'
  const at = (second: number, event: UIEvent, seq: number): Envelope => ({
    seq,
    sessionId,
    turnId: 't1',
    event,
    at: new Date(second * 1000).toISOString(),
  })
  const asked = { type: 'permission:request', sessionId, requestId: 'r1', kind: 'tool' } as const
  const { session } = new SessionFold(
    newSession({
      id: sessionId,
      projectRoot: '/p',
      persona: null,
      mode: 'direct',
      createdAt: at(0, init(sessionId), 0).at,
    }),
  ).add([
    at(100, { type: 'turn:start', sessionId, message: 'Go' }, 1),
    at(103, { ...asked, toolName: 'Bash', input: {}, raw: {} }, 2),
    at(
      5000,
      { type: 'permission:resolved', sessionId, requestId: 'r1', outcome: 'allowed', by: 'person' },
      3,
    ),
    at(5004, { type: 'turn:end', sessionId, reason: 'completed' }, 4),
    at(9000, { type: 'turn:start', sessionId, message: 'More' }, 5),
    at(9002, { type: 'turn:end', sessionId, reason: 'completed' }, 6),
  ])
  expect(session.workedMs).toBe(9000)
})

test.each([
  ['raised', (file: SessionFile) => ({ ...file, settings: { budgetUsd: 1000 } })],
  ['removed', (file: SessionFile) => ({ ...file, settings: {} })],
  [
    'met by a lower sum',
    (file: SessionFile) => ({
      ...file,
      costUsd: 0,
      tokens: 0,
      ledger: { ...file.ledger, highUsd: 0, statedUsd: 0, estimatedUsd: 0, openUsd: 0 },
    }),
  ],
  [
    'met by a lower sum of earlier',
    (file: SessionFile) => ({ ...file, costUsd: 0, tokens: 0, lastSeq: file.lastSeq - 1, ledger: undefined }),
  ],
] as const)("a session's budget that an agent has %s in its file still holds", async (_how, change) => {
  const before = world.host([new ScriptedHarness([works(id => [spends(id, 12)])])], { prices })
  const { id } = await before.createSession(world.project, { budgetUsd: 10 })
  const first = await before.session(id)
  await first.start('Go')
  await first.settled()
  await before.close()
  const path = world.file('sessions', `${id}.json`)
  const file = JSON.parse(readFileSync(path, 'utf8')) as SessionFile
  writeFileSync(path, JSON.stringify(change(file)))
  const host = world.host([new ScriptedHarness([works(id => [spends(id, 1)])])], { prices })
  const session = await host.session(id)
  expect(session.status).toMatchObject({ budgetUsd: 10, costUsd: 12 })
  await expect(session.start('More')).rejects.toMatchObject({ code: 'budget' })
  await session.setBudget({ usd: 20 })
  await session.start('More')
  await session.settled()
  expect(session.status).toMatchObject({ budgetUsd: 20, costUsd: 13 })
})

interface SessionFile {
  settings: object
  costUsd: number
  tokens: number
  lastSeq: number
  ledger: Record<string, unknown>
}
