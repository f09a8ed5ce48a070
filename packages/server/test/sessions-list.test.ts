import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { DiscardedSessions } from '@chirality/centre'
import { initRepository } from '@chirality/fixtures'
import { expect, onTestFinished, test } from 'vitest'
import { createWorld } from './support/agents.ts'
import { openTestServer, sessionWith, startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'
import { SessionWatch } from './support/watch-session.ts'

test('pinned and archived are kept with the session, told to every client, and outlive its file', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const [first, second] = [await sessionWith(server, 2), await sessionWith(server, 2)]
  const seen: Record<string, string | null> = {}
  const fleet = client.fleet.events.subscribe(undefined, {
    onData: event => {
      for (const { sessionId, shelf } of 'sessions' in event ? event.sessions : []) seen[sessionId] = shelf
    },
  })
  onTestFinished(() => fleet.unsubscribe())
  await expect.poll(() => Object.keys(seen)).toHaveLength(2)
  await client.sessions.shelve.mutate({ sessionIds: [first.id], shelf: 'pinned' })
  await client.sessions.shelve.mutate({ sessionIds: [second.id, second.id], shelf: 'archived' })
  await expect.poll(() => seen).toEqual({ [first.id]: 'pinned', [second.id]: 'archived' })
  const shelves = async () =>
    Object.fromEntries((await client.sessions.list.query()).sessions.map(({ id, shelf }) => [id, shelf]))
  expect(await shelves()).toEqual({ [first.id]: 'pinned', [second.id]: 'archived' })

  // Files of a project can be lost; what the user chose is in the user's own folder, too.
  await server.host.closeProject(server.project)
  await rm(path.join(server.project, '.chirality', 'sessions', `${second.id}.json`))
  expect(await shelves()).toMatchObject({ [second.id]: 'archived' })
  await client.sessions.shelve.mutate({ sessionIds: [first.id, second.id], shelf: null })
  expect(await shelves()).toEqual({ [first.id]: null, [second.id]: null })
  await expect(
    client.sessions.shelve.mutate({ sessionIds: ['no-such-session'], shelf: null }),
  ).rejects.toMatchObject({ data: { code: 'NOT_FOUND' } })
})

test('a fork of an archived session is in the lists', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const { id } = await sessionWith(server, 2)
  await client.sessions.shelve.mutate({ sessionIds: [id], shelf: 'archived' })
  expect(await client.sessions.fork.mutate({ sessionId: id })).toMatchObject({ shelf: null })
})

test('what was deleted is nowhere, comes back whole, and is gone for good with the server', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const [kept, gone] = [await sessionWith(server, 3), await sessionWith(server, 3)]
  const removed: string[] = []
  const fleet = client.fleet.events.subscribe(undefined, {
    onData: event => event.type === 'changes' && removed.push(...event.removed),
  })
  onTestFinished(() => fleet.unsubscribe())
  const sessionIds = [kept.id, gone.id]
  // One that is not there keeps no other from it.
  expect(await client.sessions.discard.mutate({ sessionIds: ['no-such-session', ...sessionIds] })).toEqual({
    ...{ undoSeconds: 60, done: sessionIds },
    failed: [{ sessionIds: ['no-such-session'], code: 'not-found', message: expect.any(String) }],
  })
  expect((await client.sessions.list.query()).sessions).toEqual([])
  for (const sessionId of sessionIds) {
    await expect(client.sessions.get.query({ sessionId })).rejects.toMatchObject({
      data: { code: 'NOT_FOUND' },
    })
    await expect(client.sessions.history.query({ sessionId })).rejects.toThrow('was deleted')
  }
  await expect.poll(() => removed.sort()).toEqual([...sessionIds].sort())

  await client.sessions.restore.mutate({ sessionIds: [kept.id] })
  expect((await client.sessions.list.query()).sessions.map(({ id }) => id)).toEqual([kept.id])
  expect(await client.sessions.history.query({ sessionId: kept.id })).toHaveLength(3)
  await expect(client.sessions.restore.mutate({ sessionIds: [kept.id] })).rejects.toThrow(
    'cannot be restored any more',
  )
  await server.close()
  expect(await server.host.store.get(gone.id)).toBeUndefined()
  expect(await server.host.store.get(kept.id)).toBeDefined()
})

test('a session is deleted or moved to another machine, never both', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const repository = initRepository(server.project)
  repository.write('a.txt', 'a')
  repository.run('add', 'a.txt')
  repository.run('commit', '-qm', 'First')
  const folder = await mkdtemp(path.join(tmpdir(), 'chirality-parcel-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const pack = (id: string) => {
    const move = { id: `move-${id.slice(0, 8)}`, from: 'one', to: 'two' }
    return server.host.moves.pack(id, { move, haves: [], folder })
  }
  const { moves, store } = server.host

  const discarded = await sessionWith(server, 2)
  await client.sessions.discard.mutate({ sessionIds: [discarded.id] })
  await expect(pack(discarded.id)).rejects.toMatchObject({ code: 'not-found' })
  expect(moves.leaving(discarded.id)).toBeUndefined()

  const moved = await sessionWith(server, 2)
  await pack(moved.id)
  const busy = { message: expect.stringContaining('is being moved') }
  await expect(client.sessions.delete.mutate({ sessionId: moved.id })).rejects.toMatchObject(busy)
  expect(await store.get(moved.id)).toBeDefined()

  const isDone = (work: Promise<unknown>) =>
    work.then(
      () => true,
      () => false,
    )
  // The move begins before the work of the session is stopped, while it is, or after that.
  for (let nth = 0; nth < 12; nth += 1) {
    const { id } = await sessionWith(server, 2)
    const { queue } = await server.host.session(id)
    const discarding = isDone(client.sessions.discard.mutate({ sessionIds: [id] }))
    for (let turn = 0; turn < nth * 4 && !queue.held; turn += 1) await setImmediate()
    const packed = await isDone(pack(id))
    expect([await discarding, packed]).not.toEqual([true, true])
    expect(moves.leaving(id) !== undefined).toBe(packed)
  }
})

test('what a killed server had discarded is deleted by the next one, and nothing else', async () => {
  const home = await mkdtemp(path.join(tmpdir(), 'chirality-discarded-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  const deleted: string[] = []
  const first = new DiscardedSessions({
    home,
    deleteForGood: async id => void deleted.push(id),
    undoMs: 3_600_000,
  })
  await first.add('wrong')
  await first.add('right')
  expect(await first.restore('wrong')).toBe(true)

  const next = new DiscardedSessions({ home, deleteForGood: async id => void deleted.push(id), undoMs: 0 })
  await next.load()
  await expect.poll(() => deleted).toEqual(['right'])
  await expect.poll(() => next.has('right')).toBe(false)
  await setTimeout(0)
  await next.close()
  expect(deleted).toEqual(['right'])
})

test('settings of a session are changed one by one, and a wrong one changes nothing', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const { id: sessionId } = await client.sessions.create.mutate({ project: server.project, budgetUsd: 2 })
  await client.sessions.configure.mutate({ sessionId, model: 'opus', thinking: 'high', maxTurns: 7 })
  await client.sessions.configure.mutate({ sessionId, mode: 'pipeline', thinking: null })
  const settings = { model: 'opus', maxTurns: 7, budgetUsd: 2 }
  expect(await client.sessions.get.query({ sessionId })).toMatchObject({ mode: 'pipeline', settings })
  await expect(
    client.sessions.configure.mutate({ sessionId, model: '--dangerous', maxTurns: 1 }),
  ).rejects.toMatchObject({ data: { code: 'BAD_REQUEST' } })
  expect((await client.sessions.get.query({ sessionId })).settings).toEqual(settings)
  expect(await client.turns.setPermissionMode.mutate({ sessionId, mode: 'plan' })).toEqual({
    from: 'next-turn',
  })
})

test.each([
  ['claude-code', 'opus', /opus/],
  ['codex', 'gpt-6-luna', /^gpt-6-luna$/],
] as const)(
  'a model and an effort chosen in a session of %s hold from its next turn',
  async (harness, model, sent) => {
    const world = await createWorld({ answers: ['First.', 'Second.'], otherwise: 'More.' })
    const server = await startTestServer({ harnesses: world.harnesses(), projects: [world.project] })
    const { client } = connect(server)
    const { id: sessionId } = await client.sessions.create.mutate({ project: world.project, harness })
    const watch = new SessionWatch(client, sessionId)
    await client.turns.start.mutate({ sessionId, message: 'One.' })
    expect((await watch.until('turn:end')).reason).toBe('completed')
    const before = world.model.requests.length
    await client.sessions.configure.mutate({ sessionId, model, thinking: 'high' })
    await server.host.session(sessionId).then(session => session.settled())
    await client.turns.start.mutate({ sessionId, message: 'Two.' })
    const ends = () => watch.types.filter(type => type === 'turn:end').length
    await expect.poll(ends, { timeout: 60_000 }).toBe(2)
    const models = world.model.requests
      .slice(before)
      .map(({ body }) => String((body as { model?: string }).model))
    expect(
      models.some(name => sent.test(name)),
      models.join(),
    ).toBe(true)
    expect((await client.sessions.get.query({ sessionId })).settings).toMatchObject({
      model,
      thinking: 'high',
    })
  },
)

test('what was read in one browser is read in every other, also after a restart, and never unread by an older mark', async () => {
  const world = await mkdtemp(path.join(tmpdir(), 'chirality-read-'))
  onTestFinished(() => rm(world, { recursive: true, force: true }))
  const first = await openTestServer({ home: path.join(world, 'home') })
  const { id } = await sessionWith(first, 9)
  const [desk, phone] = [connect(first).client, connect(first).client]
  await desk.sessions.markRead.mutate({ sessionId: id, seq: 7 })
  await phone.sessions.markRead.mutate({ sessionId: id, seq: 3 })
  expect(await phone.sessions.readMarks.query()).toEqual({ [id]: 7 })
  await first.dispose()
  const second = await startTestServer({ home: path.join(world, 'home') })
  expect(await connect(second).client.sessions.readMarks.query()).toEqual({ [id]: 7 })
})
