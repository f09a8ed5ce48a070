import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { initRepository } from '@chirality/fixtures'
import { TurnChanges, TurnTrees } from '@chirality/workspaces'
import { expect, onTestFinished, test } from 'vitest'
import { startServer } from '../src/index.ts'
import { createWorld, serveWorld } from './support/agents.ts'
import { createCommitted } from './support/repository.ts'
import { connect } from './support/trpc-client.ts'

test('the first edit of an agent that answers at once is in the diff of its turn', async () => {
  const command = 'echo agent > a.txt; echo new > new.txt; rm b.txt'
  const answers = [{ tool: 'bash', input: { command } }, 'Done.']
  const world = await createWorld({ answers })
  const repository = initRepository(world.project)
  // Enough files that reading them all takes longer than the answer of the model.
  for (let i = 0; i < 1000; i++) repository.write(`many/${i % 30}/${i}.txt`, `${i}\n`.repeat(50))
  repository.write('a.txt', 'a\n')
  repository.write('b.txt', 'b\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  const server = await serveWorld(world)
  const { client } = connect(server)
  const { id: sessionId } = await server.host.createSession(world.project, { harness: 'messages-api' })
  const session = await server.host.session(sessionId)
  const { turnId } = await session.start('Go', { permissionMode: 'bypassPermissions' })
  await session.settled()
  expect(existsSync(path.join(world.project, 'b.txt'))).toBe(false)
  const { source, files } = await client.files.turnDiff.query({ sessionId, turnId })
  expect(source).toBe('git')
  expect(files.map(({ path: file, kind }) => [file, kind])).toEqual([
    ['a.txt', 'changed'],
    ['b.txt', 'deleted'],
    ['new.txt', 'added'],
  ])
})

test('what a killed server left half taken back is finished before the agent of the next turn is asked', async () => {
  const world = await createWorld({
    answers: [{ tool: 'bash', input: { command: 'cp a.txt seen.txt' } }, 'Seen.'],
  })
  const repository = initRepository(world.project)
  repository.write('a.txt', 'a\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  const start = () =>
    startServer({
      ...{ harnesses: world.harnesses(), projects: [world.project], port: 0 },
      home: path.join(world.home, 'chirality'),
    })
  const first = await start()
  const { id: sessionId } = await first.host.createSession(world.project, { harness: 'messages-api' })
  repository.write('a.txt', 'by the agent\n')
  const { id } = await connect(first).client.review.discard.mutate({ sessionId, files: [{ path: 'a.txt' }] })
  await first.close()
  // As if it had been killed after the refs were written and before the file was.
  repository.run(
    'update-ref',
    `refs/chirality/moving/${sessionId}`,
    `refs/chirality/moves/${sessionId}/${id}`,
  )
  repository.write('a.txt', 'by the agent\n')

  const server = await start()
  onTestFinished(() => server.close())
  const { id: other } = await server.host.createSession(world.project, { harness: 'messages-api' })
  const session = await server.host.session(other)
  const { turnId } = await session.start('Look', { permissionMode: 'bypassPermissions' })
  await session.settled()
  expect(readFileSync(path.join(world.project, 'seen.txt'), 'utf8')).toBe('a\n')
  const { files } = await connect(server).client.files.turnDiff.query({ sessionId: other, turnId })
  expect(files.map(({ path: file }) => file)).toEqual(['seen.txt'])
  expect(repository.run('for-each-ref', 'refs/chirality/moving')).toBe('')
})

test('a turn that another server began keeps the files that were recorded before it', async () => {
  const { repository, host } = watched()
  await host.begin('first')
  const trees = new TurnTrees()
  const before = await trees.read(repository.root, SESSION, 'first')
  expect(before).toEqual({
    before: repository.run('rev-parse', 'HEAD^{tree}').trim(),
    beforeAt: expect.any(Number),
  })
  repository.write('kept.txt', 'changed by the agent\n')

  const next = watched(repository)
  expect(await next.host.end('first', { isLate: true })).toBeUndefined()
  const after = await trees.read(repository.root, SESSION, 'first')
  expect(after).toMatchObject(before ?? {})
  expect(after?.after).toMatch(/^[0-9a-f]{40}$/)
  expect(after?.after).not.toBe(before?.before)
  expect(after?.isLate).toBe(true)
  // A server that is killed before it tells the end has recorded the files: what changed since then is not the agent's.
  repository.write('kept.txt', 'changed by a person\n')
  expect(await watched(repository).host.end('first', { isLate: true })).toBeUndefined()
  expect(await trees.read(repository.root, SESSION, 'first')).toEqual(after)
})

test('a turn does not wait forever for its snapshot, nor at all when it is stopped', async () => {
  const { repository, host } = watched(createCommitted(), { holdMs: 0 })
  expect(await host.begin('late')).toContain('their state before this turn is not stored')
  expect(await host.begin('stopped', AbortSignal.abort())).toBeUndefined()
  const trees = new TurnTrees()
  expect(await trees.read(repository.root, SESSION, 'late')).toBeUndefined()
  expect(await trees.read(repository.root, SESSION, 'stopped')).toBeUndefined()
})

test('the end of a turn does not wait forever for its snapshot, and says that it is not kept', async () => {
  const { repository, host } = watched()
  await host.begin('late')
  const slow = watched(repository, { holdMs: 0 })
  expect(await slow.host.end('late')).toContain('took too long, so their state after this')
  const trees = new TurnTrees()
  expect(await trees.read(repository.root, SESSION, 'late')).not.toHaveProperty('after')
  await host.begin('failed')
  rmSync(path.join(repository.root, '.git'), { recursive: true })
  expect(await host.end('failed')).toContain('failed, so their state after this turn is not stored')
  expect(await host.end('never begun')).toBeUndefined()
})

test.each([
  ['project folder', false],
  ['worktree', true],
])(
  "what a person writes when a turn has just ended is not the turn's: in the %s",
  async (_place, worktree) => {
    const command = 'echo agent > agent.txt; echo agent >> a.txt'
    const world = await createWorld({
      answers: [
        { tool: 'bash', input: { command } },
        'Done.',
        { tool: 'bash', input: { command: 'echo 2 > second.txt' } },
        'Again.',
      ],
    })
    const repository = initRepository(world.project)
    // Enough files that reading them all takes longer than the person.
    for (let i = 0; i < 1000; i++) repository.write(`many/${i % 30}/${i}.txt`, `${i}\n`)
    repository.write('a.txt', 'a\n')
    repository.write('b.txt', 'b\n')
    repository.run('add', '.')
    repository.run('commit', '-qm', 'first')
    const server = await serveWorld(world)
    const { client } = connect(server)
    const { id: sessionId } = await server.host.createSession(world.project, {
      harness: 'messages-api',
      ...(worktree ? { worktree: {} } : {}),
    })
    const session = await server.host.session(sessionId)
    const folder = session.status.worktree?.folder ?? world.project
    const stop = server.host.onStatus(({ phase, lastTurn }) => {
      if (phase !== 'idle' || lastTurn !== 'completed' || existsSync(path.join(folder, 'person.txt'))) return
      writeFileSync(path.join(folder, 'person.txt'), 'person\n')
      writeFileSync(path.join(folder, 'b.txt'), 'person\n')
      writeFileSync(path.join(folder, 'a.txt'), 'a\nagent\nperson\n')
    })
    onTestFinished(stop)
    const { turnId } = await session.start('Go', { permissionMode: 'bypassPermissions' })
    // The queue sends it at once.
    await session.send('Again', { permissionMode: 'bypassPermissions' })
    await session.settled()
    const { files } = await client.files.turnDiff.query({ sessionId, turnId })
    expect(files.map(({ path: file }) => file)).toEqual(['a.txt', 'agent.txt'])
    const plan = await client.review.backPlan.query({ sessionId, turnId })
    expect(plan).toMatchObject({ files: ['a.txt', 'agent.txt', 'second.txt'], changedSince: ['a.txt'] })
    await client.review.back.mutate({ sessionId, turnId })
    const inFolder = (file: string) => readFileSync(path.join(folder, file), 'utf8')
    expect(['person.txt', 'b.txt', 'a.txt'].map(inFolder)).toEqual([
      'person\n',
      'person\n',
      'a\nagent\nperson\n',
    ])
    expect(existsSync(path.join(folder, 'agent.txt'))).toBe(false)
  },
  120_000,
)

test('a turn whose snapshot fails says so; one without git does not', async () => {
  const { repository, host } = watched()
  // Where the snapshots would be.
  repository.write('.chirality', 'no folder')
  expect(await host.begin('failed')).toContain('Reading the files failed')
  expect(await new TurnTrees().read(repository.root, SESSION, 'failed')).toBeUndefined()
  rmSync(path.join(repository.root, '.git'), { recursive: true })
  expect(await host.begin('without git')).toBeUndefined()
})

const SESSION = 'b3f7a1c2-0000-4000-8000-000000000001'

/** Turn changes that hear of turns as from a host. */
function watched(repository = createCommitted(), options: { holdMs?: number } = {}) {
  const changes = new TurnChanges(options)
  onTestFinished(() => changes.close())
  const place = { sessionId: SESSION, projectRoot: repository.root, workFolder: repository.root }
  const host = {
    begin: (turnId: string, signal = new AbortController().signal) =>
      changes.begin({ ...place, turnId, signal }),
    end: (turnId: string, { isLate = false } = {}) => changes.end({ ...place, turnId, lastSeq: 1, isLate }),
  }
  return { repository, host }
}
