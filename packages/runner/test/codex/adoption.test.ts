import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { TurnTrace, UIEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { TurnNotes } from '../../src/turn/adoption-record.ts'
import { type Host, type HostStart, useHosts } from '../support/host.ts'
import { isRunning } from '../support/programs.ts'
import { collect, ofType, run } from './support/events.ts'
import { useWorld } from './support/world.ts'

// An app-server ends with whoever started it. What it said is told again, and the turn ends.

const world = useWorld()
const hosts = useHosts()
const AGENT = 'codex app-server'

describe('a turn on the app-server of a Chirality that was killed', () => {
  test('is told as far as it came, ends, and the conversation goes on', async () => {
    const model = await world.model({
      answers: [{ text: 'one two three', chunkChars: 4, stallAfter: 2 }, 'Back again.'],
    })
    const session = world.session()
    const host = startHost({ model, session })
    await host.tells(({ type }) => type === 'chat:delta')
    await host.kill()
    const harness = world.harness({ model, configOverrides: ['model="scripted"'] })
    const events = await collect(harness.adoptTurn(session, host.trace()))
    expect(events.slice(0, host.events.length)).toEqual(host.events)
    expect(ofType(events, 'session:error')).toMatchObject([
      { code: 'process_crashed', error: expect.stringMatching(/^Chirality was ended while Codex worked/) },
    ])
    expect(events.at(-1)).toMatchObject({ type: 'turn:end', reason: 'crashed' })
    expect(await isRunning(host.processes[0]?.pid ?? 0)).toBe(false)
    expect(notes()).toEqual([])
    const claudeSessionId = ofType(events, 'session:init')[0]?.claudeSessionId ?? null
    const next = await collect(harness.startTurn({ ...session, claudeSessionId }, 'Go on'))
    expect(ofType(next, 'chat:complete')).toMatchObject([{ text: 'Back again.' }])
  })

  test('that had ended is told without a difference, decisions included', async () => {
    const file = path.join(world.project, 'made')
    const model = await world.model({
      answers: [
        { blocks: [run(`touch ${file}`, { sandbox_permissions: 'require_escalated', justification: 'x' })] },
        'Done.',
      ],
    })
    const session = world.session()
    const decision = { behavior: 'allow', by: 'policy', rule: 'allow touch' } as const
    const host = startHost({
      model,
      session,
      opts: { permissionMode: 'default' },
      decision,
      holdAt: 'turn:end',
    })
    await host.tells(({ type }) => type === 'turn:end')
    await host.kill()
    const events = await collect(world.harness({ model }).adoptTurn(session, host.trace()))
    expect(timeless(events)).toEqual(timeless(host.events))
    expect(ofType(events, 'permission:resolved')).toMatchObject([
      { outcome: 'allowed', by: 'policy', rule: 'allow touch' },
    ])
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
  })

  test('closes what was asked and never answered', async () => {
    const model = await world.model({
      answers: [
        { blocks: [run('touch x', { sandbox_permissions: 'require_escalated', justification: 'x' })] },
        'never said',
      ],
    })
    const session = world.session()
    const opts = { permissionMode: 'default' } as const
    const host = startHost({ model, session, opts, decision: 'never' })
    await host.tells(({ type }) => type === 'permission:request')
    await host.kill()
    const events = await collect(world.harness({ model }).adoptTurn(session, host.trace()))
    expect(events.slice(0, host.events.length)).toEqual(host.events)
    expect(ofType(events, 'permission:resolved')).toMatchObject([{ outcome: 'cancelled' }])
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'crashed' }])
  })
})

describe('a spool of many threads', () => {
  const about = (threadId: string, method: string, params: object = {}) => ({
    method,
    params: { threadId, ...params },
  })
  const says = (threadId: string, text: string) =>
    about(threadId, 'item/completed', { turnId: 't', item: { type: 'agentMessage', id: text, text } })
  const ends = (threadId: string) =>
    about(threadId, 'turn/completed', { turn: { id: 't', status: 'completed', items: [] } })
  const begins = (threadId: string) => about(threadId, 'turn/started', { turn: { id: 't' } })
  const LINES = [
    ...[begins('mine'), says('mine', 'an earlier turn'), ends('mine')],
    ...[begins('other'), begins('mine'), says('other', 'not mine'), ends('other'), says('mine', 'mine')],
    ...[ends('mine'), begins('mine'), says('mine', 'a later turn')],
  ]

  test.each([
    ['what the notes say of it', true],
    ['what the session knows of it', false],
  ])('gives the turn that began there, by %s', async (_what, hasNotes) => {
    const trace = writeSpool(LINES, 3)
    const from = trace.processes[0]?.spoolOffset ?? 0
    const news = { from, unheard: [], children: [] }
    const place = { spoolPath: trace.processes[0]?.spoolPath ?? '', turnId: trace.turnId }
    if (hasNotes) new TurnNotes(place).facts({ threadId: 'mine', model: 'm', cwd: '/', news })
    const session = world.session({ claudeSessionId: 'mine' })
    const events = await collect(world.harness().adoptTurn(session, trace))
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'mine' }])
    expect(JSON.stringify(events)).not.toMatch(/not mine|earlier|later/)
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
  })

  test('of which nobody knows the thread says so', async () => {
    const events = await collect(world.harness().adoptTurn(world.session(), writeSpool(LINES, 0)))
    expect(ofType(events, 'session:error')).toMatchObject([
      { error: expect.stringContaining('names no Codex thread') },
    ])
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'crashed' }])
  })

  test('a missing spool is reported', async () => {
    const trace = writeSpool(LINES, 0)
    const processes = trace.processes.map(process => ({ ...process, spoolPath: `${process.spoolPath}.x` }))
    const events = await collect(world.harness().adoptTurn(world.session(), { ...trace, processes }))
    expect(ofType(events, 'session:error')).toMatchObject([{ error: expect.stringContaining('is gone') }])
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'crashed' }])
  })
})

function startHost(request: Omit<HostStart, 'agent' | 'place' | 'message'>): Host {
  const place = { home: world.home, marker: world.marker }
  return hosts.start({ agent: AGENT, place, message: 'Go', ...request })
}

function writeSpool(lines: unknown[], begin: number): TurnTrace {
  const folder = path.join(world.project, '.chirality', 'logs', 'codex')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const spoolPath = path.join(folder, '20260101-app-server-x.ndjson')
  const texts = lines.map(line => `${JSON.stringify(line)}\n`)
  writeFileSync(spoolPath, texts.join(''))
  const spoolOffset = texts.slice(0, begin).join('').length
  const process = { pid: 2 ** 22, startTime: '', marker: 'no-such-marker', spoolOffset }
  return {
    turnId: 'turn',
    startedAt: '2026-01-01T00:00:00.000Z',
    message: 'Go',
    processes: [{ ...process, spoolPath, stderrPath: `${spoolPath}.stderr` }],
  }
}

function timeless(events: UIEvent[]): UIEvent[] {
  return events.map(event => (event.type === 'turn:end' ? { ...event, durationMs: undefined } : event))
}

function notes(): string[] {
  const folder = path.join(world.project, '.chirality', 'logs', 'codex')
  return readdirSync(folder).filter(name => name.endsWith('.notes'))
}
