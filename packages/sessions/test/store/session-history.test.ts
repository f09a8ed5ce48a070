import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { initialSessionState, reduceSession, type UIEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { openSessionLog } from '../../src/log/open-logs.ts'
import { readSessionLog } from '../../src/log/read-log.ts'
import type { StoredSession } from '../../src/store/stored-session.ts'
import { range } from '../support/events.ts'
import { useProject } from '../support/project.ts'
import { appendTurn, useStore, withTurn } from '../support/store.ts'

const project = useProject()
const stores = useStore()
const file = (session: StoredSession) => project.file('sessions', `${session.id}.json`)

describe('a file that is spoilt', () => {
  test.each([
    ['empty', ''],
    ['half', '{"id":"'],
    ['binary', '\u0000\u0001\ufffd'],
    ['another session', '{"id":"other"}'],
    ['not a session', '[1,2]'],
    ['of wrong types', '{"id":"ID","createdAt":5}'],
    ['huge', `"${'x'.repeat(2_000_000)}"`],
  ])('%s: it is kept aside and rebuilt from the log', async (_, text) => {
    const store = stores.open()
    const session = await withTurn(store, project.root)
    writeFileSync(file(session), text)
    expect(await store.resume(session.id)).toEqual({
      ...session,
      updatedAt: expect.any(String),
      // By the times in the log.
      workedMs: expect.any(Number),
      claudeSessionId: 'native-1',
      title: 'Fix the bug',
      harness: 'claude-code',
      model: 'm1',
      lastTurn: 'completed',
      turnCount: 1,
      costUsd: 0.3,
      tokens: 6,
      ledger: expect.any(Object),
      lastSeq: 5,
      progress: expect.objectContaining({
        turn: expect.objectContaining({ reason: 'completed', costUsd: 0.3 }),
      }),
    })
    const names = readdirSync(project.file('sessions'))
    const kept = names.find(name => /^.*\.json\.corrupt-\d{8}T\d{9}Z$/.test(name))
    expect(readFileSync(project.file('sessions', kept ?? ''), 'utf8')).toBe(text)
    expect(names).toContain(`${session.id}.json`)
  })

  test('a missing one is rebuilt, also for the list', async () => {
    const store = stores.open()
    const session = await withTurn(store, project.root)
    rmSync(project.file('sessions'), { recursive: true })
    expect(await stores.open().list(project.root)).toMatchObject([
      { id: session.id, persona: 'DECOMP', costUsd: 0.3 },
    ])
    expect(existsSync(file(session))).toBe(true)
  })

  test('without the user\u2019s index the log alone is enough', async () => {
    const session = await withTurn(stores.open(), project.root)
    rmSync(file(session))
    rmSync(stores.home, { recursive: true })
    expect(await stores.open().list(project.root)).toMatchObject([
      { id: session.id, title: 'Fix the bug', persona: null, mode: 'direct', costUsd: 0.3 },
    ])
  })

  test('one bad file does not hide the others', async () => {
    const store = stores.open()
    const good = await store.create(project.root, null, 'direct')
    writeFileSync(project.file('sessions', 'bad.json'), 'rubbish')
    expect((await stores.open().list(project.root)).map(({ id }) => id)).toEqual([good.id])
  })

  test('a symlink is not followed', async () => {
    const store = stores.open()
    const session = await withTurn(store, project.root)
    const target = join(stores.home, 'target')
    writeFileSync(target, readFileSync(file(session)))
    rmSync(file(session))
    symlinkSync(target, file(session))
    await store.update(session.id, { title: 'New' })
    expect(JSON.parse(readFileSync(target, 'utf8')).title).toBeNull()
    expect(statSync(file(session)).isFile()).toBe(true)
    rmSync(project.file('sessions'), { recursive: true })
    symlinkSync(stores.home, project.file('sessions'))
    await expect(store.update(session.id, { title: 'x' })).rejects.toMatchObject({ code: 'unsafe' })
    await expect(store.list(project.root)).rejects.toMatchObject({ code: 'unsafe' })
  })
})

describe('forking', () => {
  test('copies the history, and shares nothing afterwards', async () => {
    const store = stores.open()
    const session = await withTurn(store, project.root)
    await store.update(session.id, { claudeSessionId: 'native-1', title: 'Original' })
    const fork = await store.fork(session.id)
    expect(fork).toMatchObject({
      title: 'Original (fork)',
      persona: 'DECOMP',
      claudeSessionId: null,
      costUsd: 0,
      lastSeq: 6,
      forkedFrom: { sessionId: session.id, seq: 5, claudeSessionId: 'native-1' },
    })
    await appendTurn(fork, 'More')
    const [original, copy] = await Promise.all(
      [session.id, fork.id].map(async id => {
        const log = await readSessionLog(project.root, id)
        const envelopes = log?.readAfter(0, 100) ?? []
        log?.close()
        return envelopes
      }),
    )
    expect(original).toHaveLength(5)
    expect(copy).toHaveLength(11)
    expect(copy?.every(({ sessionId, event }) => sessionId === fork.id && event.sessionId === fork.id)).toBe(
      true,
    )
    expect(copy?.map(({ seq }) => seq)).toEqual(range(1, 11))
  })

  test('a fork of a whole conversation that is rebuilt from its log is still a fork, with only its own cost', async () => {
    const store = stores.open()
    const session = await withTurn(store, project.root)
    await store.update(session.id, { claudeSessionId: 'native-1' })
    const fork = await store.fork(session.id)
    rmSync(join(project.root, '.chirality', 'sessions', `${fork.id}.json`))
    const rebuilt = await stores.open().get(fork.id)
    expect(rebuilt).toMatchObject({ costUsd: 0, tokens: 0, claudeSessionId: null })
    expect(rebuilt?.forkedFrom).toEqual(fork.forkedFrom)
    const log = await readSessionLog(project.root, fork.id)
    const state = reduceSession(initialSessionState(fork.id), log?.readAfter(0, 100) ?? [])
    log?.close()
    expect(state).toMatchObject({ costUsd: 0, tokens: 0, agent: { nativeSessionId: null } })
    // What the copied turn cost stays beside the turn.
    expect(state.turns).toMatchObject([{ costUsd: 0.3 }])
  })

  test('in the middle of a turn closes that turn', async () => {
    const store = stores.open()
    const session = await store.create(project.root, null, 'direct')
    await appendTurn(session, 'Go', { open: true })
    const fork = await store.fork(session.id, { atSeq: 2, title: 'Half' })
    expect(fork).toMatchObject({ title: 'Half', status: 'idle', lastTurn: 'interrupted', lastSeq: 4 })
    const log = await readSessionLog(project.root, fork.id)
    expect(log?.readLast(2)).toMatchObject([
      { turnId: 'turn-1', event: { type: 'turn:end' } },
      { turnId: null, event: { type: 'status', data: { forkedFrom: { history: 'account' } } } },
    ])
    log?.close()
  })

  test('before the end of the conversation is told, and the log alone knows it', async () => {
    const store = stores.open()
    const session = await withTurn(store, project.root)
    await store.update(session.id, { claudeSessionId: 'native-1' })
    expect((await store.fork(session.id)).forkedFrom?.history).toBe('whole')
    await appendTurn(session, 'More')
    const fork = await store.fork(session.id, { atSeq: 5 })
    const forkedFrom = { sessionId: session.id, seq: 5, claudeSessionId: 'native-1', history: 'account' }
    expect(fork).toMatchObject({ forkedFrom, lastSeq: 6, claudeSessionId: null })
    rmSync(join(project.root, '.chirality', 'sessions', `${fork.id}.json`))
    expect(await stores.open().get(fork.id)).toMatchObject({ forkedFrom, lastSeq: 6, claudeSessionId: null })
  })

  test('is cut where the agent named a point, in the conversation that it was in then', async () => {
    const store = stores.open()
    const session = await store.create(project.root, null, 'direct')
    await speak(session, [...answered('native-1', 'point-1')])
    await speak(session, [...answered('native-2', 'point-2')])
    await store.update(session.id, { claudeSessionId: 'native-2' })
    const origin = { sessionId: session.id, seq: 5, claudeSessionId: 'native-1', point: 'point-1' }
    const fork = await store.fork(session.id, { atSeq: 5 })
    expect(fork).toMatchObject({ forkedFrom: { ...origin, history: 'cut' }, claudeSessionId: null })
    expect(await store.forkHistory(session.id, { atSeq: 5 })).toBe('cut')
    expect(await store.forkHistory(session.id)).toBe('whole')
    // In the middle of a turn there is no such point.
    for (const atSeq of [3, 4, 7, 8]) {
      expect(await store.forkHistory(session.id, { atSeq }), String(atSeq)).toBe('account')
      expect((await store.fork(session.id, { atSeq })).forkedFrom?.history, String(atSeq)).toBe('account')
    }
    rmSync(join(project.root, '.chirality', 'sessions', `${fork.id}.json`))
    expect(await stores.open().get(fork.id)).toMatchObject({ forkedFrom: { ...origin, history: 'cut' } })
    // A fork of the fork, at what both share, is cut in the first conversation.
    await speak(fork, [...answered('native-3', 'point-3')])
    await store.update(fork.id, { claudeSessionId: 'native-3' })
    const again = await store.fork(fork.id, { atSeq: 5 })
    expect(again.forkedFrom).toMatchObject({ claudeSessionId: 'native-1', point: 'point-1', history: 'cut' })
  })

  test('is not cut after a turn that failed, nor before a summary took the place of what was said', async () => {
    const store = stores.open()
    const session = await store.create(project.root, null, 'direct')
    const { id: sessionId } = session
    const fails: UIEvent[] = [
      { type: 'turn:start', sessionId, message: 'Go' },
      { type: 'session:error', sessionId, error: 'no', code: 'api_error' },
      { type: 'turn:end', sessionId, reason: 'failed' },
    ]
    await speak(session, [...answered('native-1', 'point-1'), ...fails, ...answered('native-1', 'point-2')])
    await store.update(sessionId, { claudeSessionId: 'native-1' })
    expect(await store.forkHistory(sessionId, { atSeq: 5 })).toBe('cut')
    expect(await store.forkHistory(sessionId, { atSeq: 8 })).toBe('account')
    const summary = { type: 'status', status: 'compacted', level: 'info', message: 'x', sessionId } as const
    await speak(session, [summary, ...answered('native-1', 'point-3'), ...answered('native-1', 'point-4')])
    expect(await store.forkHistory(sessionId, { atSeq: 5 })).toBe('account')
    expect(await store.forkHistory(sessionId, { atSeq: 19 })).toBe('cut')
  })

  test('a session without a log gives one without a log', async () => {
    const store = stores.open()
    const session = await store.create(project.root, null, 'direct')
    expect(await store.fork(session.id)).toMatchObject({ lastSeq: 0, title: null })
  })
})

describe('importing', () => {
  test('keeps times, turns and the native id', async () => {
    const store = stores.open()
    const native = {
      session: {
        id: 'imported-1',
        createdAt: '2025-01-01T00:00:00.000Z',
        updatedAt: '2025-01-02T00:00:00.000Z',
        projectRoot: project.root,
        persona: null,
        mode: 'direct' as const,
        claudeSessionId: 'native-9',
      },
      envelopes: [
        {
          seq: 4,
          at: '2025-01-01T00:00:00.000Z',
          sessionId: 'x',
          turnId: 't',
          event: { type: 'turn:start' as const, sessionId: 'x', message: 'Hello' },
        },
      ],
    }
    const session = await store.import(native)
    expect(session).toMatchObject({
      id: 'imported-1',
      title: 'Hello',
      claudeSessionId: 'native-9',
      status: 'idle',
    })
    expect(session.updatedAt).toBe('2025-01-02T00:00:00.000Z')
    const log = await readSessionLog(project.root, 'imported-1')
    expect(log?.readAfter(0, 9).map(({ seq, at, event }) => [seq, at, event.type])).toEqual([
      [1, '2025-01-01T00:00:00.000Z', 'turn:start'],
      [2, '2025-01-01T00:00:00.000Z', 'turn:end'],
    ])
    log?.close()
  })
})

describe('deleting', () => {
  test('stops what runs and removes everything that is kept', async () => {
    const stopped: string[] = []
    const store = stores.open({
      beforeDelete: async id => {
        stopped.push(id)
      },
    })
    const session = await withTurn(store, project.root)
    const other = await withTurn(store, project.root)
    mkdirSync(project.file('logs/claude-code'), { recursive: true })
    mkdirSync(project.file('prompts'))
    const spool = (id: string) => project.file('logs/claude-code', `20260207T101112345Z-${id}-turn-1.ndjson`)
    for (const { id } of [session, other]) {
      writeFileSync(spool(id), '')
      writeFileSync(project.file('prompts', `${id}-system.txt`), '')
    }
    const log = await openSessionLog(project.root, session.id)
    const reader = log.subscribe(0)
    await store.delete(session.id)
    expect(stopped).toEqual([session.id])
    expect(await reader.next()).toEqual({ done: true, value: undefined })
    expect(() =>
      log.append({ type: 'turn:end', sessionId: session.id, reason: 'failed' }, { turnId: null }),
    ).toThrow('closed')
    const left = readdirSync(project.root, { recursive: true, encoding: 'utf8' })
    expect(left.filter(name => name.includes(session.id))).toEqual([])
    expect(left.filter(name => name.includes(other.id))).toHaveLength(5)
    expect(await store.get(session.id)).toBeUndefined()
    expect((await stores.open().list()).map(({ id }) => id)).toEqual([other.id])
  })
})

/** A turn of five events that came to an answer. */
function answered(claudeSessionId: string, forkPoint: string): UIEvent[] {
  const usage = { input_tokens: 1, output_tokens: 2 }
  return [
    { type: 'turn:start', sessionId: '', message: 'Go' },
    { type: 'session:init', sessionId: '', claudeSessionId, model: 'm', tools: [], harness: 'claude-code' },
    { type: 'chat:complete', sessionId: '', text: 'Done.' },
    { type: 'session:complete', sessionId: '', usage, forkPoint },
    { type: 'turn:end', sessionId: '', reason: 'completed' },
  ]
}

async function speak({ id, projectRoot }: StoredSession, events: UIEvent[]): Promise<void> {
  const log = await openSessionLog(projectRoot, id)
  for (const event of events) log.append({ ...event, sessionId: id }, { turnId: 'turn-1' })
  await log.close()
}
