import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { SessionStatus } from '../../src/status/session-status.ts'
import { eventsOf, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()

test('a turn of the real Claude Code: events, statuses, files, and a second turn that resumes', async () => {
  const model = await world.model({ answers: [{ text: 'Four.', chunkChars: 2 }, 'Five.'] })
  const host = world.host([world.claude(model, { keepAlive: false, onLog: entry => host.log(entry) })])
  const phases: string[] = []
  host.onStatus(({ phase }: SessionStatus) => {
    if (phases.at(-1) !== phase) phases.push(phase)
  })

  const { id } = await host.createSession(world.project, { mode: 'direct', title: 'Sums' })
  const session = await host.session(id)
  expect(session.status).toMatchObject({ phase: 'idle', title: 'Sums', turnId: null, lastTurn: null })
  const { turnId } = await session.start('What is 2+2?')
  expect(session.status).toMatchObject({ turnId })
  expect(eventsOf(session)[0]).toMatchObject({ type: 'turn:start', message: 'What is 2+2?' })
  expect(readdirSync(world.file('state', 'turns'))).toEqual([`${id}.json`])
  await session.settled()

  const events = eventsOf(session)
  expect(events.filter(({ type }) => type === 'turn:end')).toMatchObject([{ reason: 'completed' }])
  expect(events.at(-1)?.type).toBe('process:exit')
  expect(phases).toEqual(['starting', 'running', 'ending', 'idle'])
  expect(session.status).toMatchObject({
    phase: 'idle',
    lastTurn: 'completed',
    harness: 'claude-code',
    lastLine: 'Four.',
    turnId: null,
    lastSeq: session.log.lastSeq,
    logHealth: 'ok',
    pending: [],
    queue: [],
  })
  expect(session.status.costUsd).toBeGreaterThan(0)

  const stored = await host.store.resume(id)
  expect(stored).toMatchObject({ status: 'idle', turnCount: 1, lastTurn: 'completed' })
  expect(readdirSync(world.file('state', 'turns'))).toEqual([])
  expect(existsSync(world.file('prompts', `${id}-system.txt`))).toBe(true)
  expect(JSON.parse(readFileSync(world.file('state', 'claude-session.json'), 'utf8'))).toMatchObject({
    direct_session_id: stored.claudeSessionId,
  })

  await session.start('And 2+3?')
  await session.settled()
  expect((await host.store.resume(id)).claudeSessionId).toBe(stored.claudeSessionId)
  const rows = readFileSync(world.file('logs', 'harness.log'), 'utf8').trim().split('\n')
  const logged = new Set(rows.map(row => JSON.parse(row).event))
  for (const row of [
    'turn:start',
    'process:spawn',
    'session:init',
    'turn:complete',
    'process:exit',
    'resume:attempt',
  ])
    expect(logged).toContain(row)
})
