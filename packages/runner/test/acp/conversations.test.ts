import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { acpDescriptor, KNOWN_AGENTS } from '../../src/acp/agent-spec.ts'
import { folded, told, types } from '../native-sessions/support.ts'
import { useFakeAgents } from './fake-agent.ts'

// The list of an agent's own conversations, and what it repeats of one. The arena checks that no process is left.

const { arena, create } = useFakeAgents()

const KEEPER = path.resolve('test/programs/fake-acp-keeper.mjs')

function keeper(behaviour: string, conversationsMs?: number) {
  const { listNativeSessions, importSession } = create(behaviour, {
    command: KEEPER,
    ...(conversationsMs === undefined ? {} : { conversationsMs }),
  })
  if (!listNativeSessions || !importSession) throw new Error('it keeps no conversations')
  return { list: listNativeSessions, take: importSession }
}

test('an agent whose conversations are in the files of another harness is not asked for them', () => {
  const elsewhere = KNOWN_AGENTS.map(spec => acpDescriptor(spec).meta).filter(
    meta => meta.nativeSessions !== meta.id,
  )
  expect(elsewhere.map(({ id, nativeSessions }) => [id, nativeSessions])).toEqual([
    ['acp-claude', 'claude-code'],
    ['acp-openai-codex', 'codex'],
  ])
  const { listNativeSessions } = create('good', { command: KEEPER, spec: { nativeSessions: 'claude-code' } })
  expect(listNativeSessions).toBeUndefined()
})

test('a conversation is listed and becomes a session that goes on with it', async () => {
  const { list, take } = keeper('good')
  expect(await list({ cwd: arena.project })).toEqual([
    {
      harness: 'acp-fake',
      nativeSessionId: 'one',
      cwd: arena.project,
      title: 'About one',
      updatedAt: '2026-03-01T00:00:00.000Z',
    },
  ])
  const imported = await take('one', arena.project)
  expect(imported.session).toMatchObject({
    claudeSessionId: 'one',
    projectRoot: arena.project,
    updatedAt: '2026-03-01T00:00:00.000Z',
  })
  expect(types(imported.envelopes)).toEqual(['turn:start', 'session:init', 'chat:message', 'turn:end'])
  expect(imported.envelopes[1]?.event).toMatchObject({ harness: 'acp-fake', claudeSessionId: 'one' })
  expect(told(folded(imported))).toEqual(['> Hi', 'text: Hello.'])
})

test('a list and an import start the agent once each, and never in the project', async () => {
  const { list, take } = keeper('good')
  const startedIn = () => readFileSync(path.join(arena.place.home, 'started-in'), 'utf8').trim().split('\n')
  await list({ cwd: arena.project })
  await expect(take('none', arena.project)).rejects.toMatchObject({ code: 'session_not_found' })
  expect(startedIn()).toHaveLength(2)
  expect(startedIn()).not.toContain(arena.project)
  await take('one', arena.project)
  expect(startedIn()).toHaveLength(3)
  expect(startedIn()).not.toContain(arena.project)
})

test('the turns of a conversation with a long id have ids that a call can name', async () => {
  const { take } = keeper('long-id')
  const before = Date.now()
  const { session, envelopes } = await take('x'.repeat(200), arena.project)
  // Without a time of its own it is from now, not from 1970.
  expect(Date.parse(session.createdAt)).toBeGreaterThanOrEqual(before)
  const ids = new Set(envelopes.map(({ turnId }) => turnId))
  expect(ids.size).toBe(1)
  for (const id of ids) expect(id?.length).toBeLessThanOrEqual(64)
})

test.each([
  ['endless', 1_000],
  ['empty-endless', 0],
  ['repeats-cursor', 2],
  ['many', 10_000],
  ['no-list', 0],
])('a list that is %s comes to an end', async (behaviour, count) => {
  const sessions = await keeper(behaviour).list({ cwd: arena.project, limit: 1_000_000 })
  expect(sessions).toHaveLength(count)
})

test('one conversation is listed once, and only in its own folder', async () => {
  const [one, ...others] = await keeper('collides').list()
  expect([one?.title, others]).toEqual(['First', []])
  const { list } = keeper('elsewhere')
  expect((await list({ cwd: arena.project })).map(({ nativeSessionId }) => nativeSessionId)).toEqual([
    'three',
  ])
  expect((await list()).map(({ nativeSessionId }) => nativeSessionId)).toEqual(['one', 'three'])
  await expect(keeper('elsewhere').take('one', arena.project)).rejects.toMatchObject({
    code: 'session_not_found',
  })
})

test('entries without an id or a folder are left out, and titles have no control characters', async () => {
  const sessions = await keeper('odd').list({ cwd: arena.project })
  expect(sessions.map(({ nativeSessionId }) => nativeSessionId)).toEqual(['three', 'one', 'two'])
  expect(sessions.map(({ title }) => title.slice(0, 30))).toEqual([
    ...['y'.repeat(30), '[31mredtxt.exe next line', 'two'],
  ])
  expect(sessions[0]?.title.length).toBeLessThan(300)
  expect(sessions.map(({ updatedAt }) => updatedAt)).toEqual([
    '2026-01-01T00:00:00.000Z',
    undefined,
    undefined,
  ])
})

test.each([
  ['lists-nothing', 'unsupported', 'session/list'],
  ['dies', 'process_crashed', 'is gone'],
  ['refuses', 'process_crashed', 'Authentication required'],
])('an agent whose list %s says so', async (behaviour, code, words) => {
  const { list, take } = keeper(behaviour)
  const expected = { code, message: expect.stringContaining(words) }
  await expect(list({ cwd: arena.project })).rejects.toMatchObject(expected)
  await expect(take('one', arena.project)).rejects.toMatchObject(expected)
})

test('an agent that never answers is given up', async () => {
  const { list } = keeper('hangs', 300)
  await expect(list()).rejects.toMatchObject({ message: expect.stringContaining('not answered in time') })
  await expect(keeper('hangs-loading', 300).take('one', arena.project)).rejects.toThrow(
    'not answered in time',
  )
})

test('lookups that are ended end the agent that is asked for a list or a conversation, and a later one asks again', async () => {
  const started = path.join(arena.place.home, 'started-in')
  const starts = () => (existsSync(started) ? readFileSync(started, 'utf8').trim().split('\n').length : 0)
  const stopped = { code: 'aborted', message: expect.stringContaining('Chirality was stopped') }
  const hangs = create('hangs', { command: KEEPER })
  const lists = [1, 2].map(() => expect(hangs.listNativeSessions?.()).rejects.toMatchObject(stopped))
  await expect.poll(starts).toBe(1)
  await hangs.endLookups?.()
  await Promise.all(lists)
  const again = expect(hangs.listNativeSessions?.()).rejects.toMatchObject(stopped)
  await expect.poll(starts).toBe(2)
  await hangs.endLookups?.()
  await again
  const loading = create('hangs-loading', { command: KEEPER })
  const taken = expect(loading.importSession?.('one', arena.project)).rejects.toMatchObject(stopped)
  await expect.poll(starts).toBe(3)
  await loading.endLookups?.()
  await taken
})

test('closing the harness ends an agent that is asked', async () => {
  const harness = create('hangs', { command: KEEPER })
  const asked = harness.listNativeSessions?.().catch(String)
  await harness.close()
  expect(await asked).toContain('Error')
})

test.each([
  ['loads-nothing', 'unsupported', 'session/load'],
  ['dies-loading', 'process_crashed', 'is gone'],
  ['refuses-loading', 'process_crashed', 'It is damaged'],
])('a conversation of an agent that %s is not imported', async (behaviour, code, words) => {
  await expect(keeper(behaviour).take('one', arena.project)).rejects.toMatchObject({
    code,
    message: expect.stringContaining(words),
  })
})

test('what the agent asks for while it repeats is refused', async () => {
  const imported = await keeper('asks-loading').take('one', arena.project)
  expect(told(folded(imported))).toEqual(['> Hi', 'text: answered -32601'])
})

test('messages in parts, without answers, of others and from the future', async () => {
  const imported = await keeper('odd-updates').take('one', arena.project)
  const state = folded(imported)
  expect(told(state)).toEqual([
    '> ',
    'text: Before any message.',
    'Bash failed: No result: the turn ended before this was over.',
    '> One, in two parts',
    '> Unanswered',
    '> Last',
    'Bash done: hi',
    'text: Done.',
  ])
  const ends = imported.envelopes.flatMap(({ event }) => (event.type === 'turn:end' ? [event.reason] : []))
  expect(ends).toEqual(['interrupted', 'interrupted', 'interrupted', 'completed'])
  expect(
    imported.envelopes.find(({ event }) => event.type === 'tool:start' && event.toolUseId === 'c2')?.at,
  ).toBe(new Date(1_790_000_000_000).toISOString())
})

test('a conversation without messages has only its agent', async () => {
  const { envelopes } = await keeper('empty').take('one', arena.project)
  expect(envelopes.map(({ event }) => event)).toMatchObject([{ type: 'session:init', harness: 'acp-fake' }])
})

test('of a very long conversation the end is imported, and the gap is told', async () => {
  const size = process.env.CHIRALITY_TEST_ALL ? 1024 : 100
  const imported = await keeper(`big-${size}`).take('one', arena.project)
  expect(imported.envelopes[0]?.event).toMatchObject({
    type: 'log:gap',
    reason: expect.stringContaining('beginning is left out'),
  })
  const starts = imported.envelopes.flatMap(({ event }) =>
    event.type === 'turn:start' ? [event.message] : [],
  )
  expect(starts.at(-1)).toBe(`Message ${size - 1}`)
  expect(starts.length).toBeLessThan(70)
})
