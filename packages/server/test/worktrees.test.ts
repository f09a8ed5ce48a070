import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { initRepository } from '@chirality/fixtures'
import { findRepository, TurnTrees, takeSnapshot } from '@chirality/workspaces'
import { expect, test } from 'vitest'
import type { CallInputs } from '../src/index.ts'
import { createWorld, serveWorld } from './support/agents.ts'
import { startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'
import { SessionWatch } from './support/watch-session.ts'

test('two sessions in worktrees and one in the folder each show their own files and changes', async () => {
  const server = await serverWithRepository()
  const { client } = connect(server)
  const { project } = server
  const inFolder = await client.sessions.create.mutate({ project })
  const one = await client.sessions.create.mutate({ project, title: 'One', worktree: {} })
  const two = await client.sessions.create.mutate({ project, title: 'Two', worktree: { base: 'main' } })
  const folders = [one, two].map(({ id }) => server.host.openSession(id)?.status.worktree?.folder)
  expect(folders).toEqual([undefined, undefined])
  const folderOf = async (id: string) => (await server.host.session(id)).status.worktree?.folder ?? project
  for (const { id, name } of [
    { id: inFolder.id, name: 'folder' },
    { id: one.id, name: 'one' },
    { id: two.id, name: 'two' },
  ])
    writeFileSync(path.join(await folderOf(id), `${name}.txt`), `${name}\n`)

  for (const [id, name] of [
    [inFolder.id, 'folder'],
    [one.id, 'one'],
    [two.id, 'two'],
  ] as const) {
    const place = { project, sessionId: id }
    const diff = await client.files.diff.query(place)
    expect(diff?.files).toEqual([{ path: `${name}.txt`, kind: 'added', added: 1, removed: 0 }])
    const listed = (await client.files.tree.query({ ...place, path: '' })).entries.map(entry => entry.name)
    expect(listed.filter(file => file.endsWith('.txt'))).toEqual(['a.txt', `${name}.txt`].sort())
    expect(await client.files.read.query({ ...place, path: `${name}.txt` })).toMatchObject({
      text: `${name}\n`,
    })
    expect(await client.files.find.query({ ...place, query: 'txt' })).toHaveLength(2)
    expect((await client.files.status.query(place))?.files).toHaveLength(1)
  }
  // Without a session: the project's folder.
  expect((await client.files.diff.query({ project }))?.files).toMatchObject([{ path: 'folder.txt' }])
})

test('a turn in a worktree shows what it changed there, also after the worktree is removed', async () => {
  const command = 'echo mine > new.txt'
  const world = await createWorld({ answers: [{ tool: 'Bash', input: { command } }], otherwise: 'Done.' })
  const repository = initRepository(world.project)
  repository.write('a.txt', 'a\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  const server = await serveWorld(world)
  const { client } = connect(server)
  const chosen = { project: world.project, permissionMode: 'default' as const, worktree: {} }
  const { id: sessionId, worktree } = await client.sessions.create.mutate(chosen)
  const watch = new SessionWatch(client, sessionId)
  const { turnId } = await client.turns.start.mutate({ sessionId, message: 'Go' })
  const { requestId } = await watch.until('permission:request')
  // Waits for the snapshot of the beginning.
  expect(await client.files.turnDiff.query({ sessionId, turnId })).toMatchObject({ files: [] })
  const busy = client.worktrees.remove.mutate({ id: worktree ?? '' })
  await expect(busy).rejects.toMatchObject({ data: { reason: 'busy' } })
  await client.decisions.answer.mutate({ sessionId, requestId, decision: { behavior: 'allow' } })
  await watch.until('turn:end')
  await expect.poll(() => server.host.openSession(sessionId)?.status.phase, SLOW).toBe('idle')
  writeFileSync(path.join(world.project, 'by-a-person.txt'), 'x\n')
  const changes = { source: 'git', files: [{ path: 'new.txt', kind: 'added', added: 1, removed: 0 }] }
  expect(await client.files.turnDiff.query({ sessionId, turnId })).toMatchObject(changes)
  expect(existsSync(path.join(world.project, 'new.txt'))).toBe(false)
  const turn = `${sessionId}/${turnId}`
  const place = { project: world.project, sessionId }
  expect(await client.files.blame.query({ ...place, path: 'new.txt' })).toEqual({
    path: 'new.txt',
    lines: [{ line: 1, count: 1, origin: { kind: 'turns', turns: [turn], isSure: true } }],
    turns: {
      [turn]: {
        ...{ sessionId, turnId, prompt: 'Go', harness: 'claude-code', model: expect.any(String) },
        ...{ title: 'Go', at: expect.any(String), costUsd: expect.any(Number), costIsEstimate: false },
        isDeleted: false,
      },
    },
  })
  const inHistory = await client.files.blame.query({ ...place, path: 'a.txt', line: 1 })
  expect(inHistory?.lines).toMatchObject([{ origin: { kind: 'commit', commit: { subject: 'first' } } }])
  const blameOf = async (file: string, of: CallInputs['files']['blame']['of']) => {
    const lines = (await client.files.blame.query({ ...place, path: file, of }))?.lines ?? []
    return lines.map(({ origin }) => (origin.kind === 'turns' ? origin.turns.join() : origin.kind))
  }
  // Both sides of what the turn changed, of what is not committed, and of what the base does not have.
  expect(await blameOf('new.txt', { turnId, side: 'new' })).toEqual([turn])
  expect(await blameOf('new.txt', { side: 'new' })).toEqual([turn])
  for (const of of [{ turnId }, {}, { since: 'base' as const }]) {
    expect(await blameOf('a.txt', { ...of, side: 'old' })).toEqual(['commit'])
    const missing = blameOf('new.txt', { ...of, side: 'old' })
    await expect(missing).rejects.toMatchObject({ data: { reason: 'not-found' } })
  }
  const unknown = blameOf('new.txt', { turnId: 'none', side: 'new' })
  await expect(unknown).rejects.toMatchObject({ data: { reason: 'turn-missing' } })

  const { kept } = await client.worktrees.remove.mutate({ id: worktree ?? '' })
  expect(kept).toMatchObject({ commits: 0, files: 1 })
  expect(await client.files.turnDiff.query({ sessionId, turnId })).toMatchObject(changes)
  const gone = client.files.diff.query({ project: world.project, sessionId })
  await expect(gone).rejects.toMatchObject({ data: { reason: 'worktree-missing' } })
  await client.worktrees.restore.mutate({ id: worktree ?? '' })
  expect((await client.files.diff.query({ project: world.project, sessionId }))?.files).toMatchObject(
    changes.files,
  )
})

test('a fork gets a worktree of its own, with the files of that point, and leaves the other as it is', async () => {
  const step = (file: string) => ({ tool: 'bash', input: { command: `echo ${file} > ${file}` } })
  const world = await createWorld({ answers: [step('one'), 'One.', step('two'), 'Two.', 'Forked.'] })
  const repository = initRepository(world.project)
  repository.write('a.txt', 'a\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  const server = await serveWorld(world)
  const { client } = connect(server)
  const chosen = { harness: 'messages-api', title: 'Count', worktree: {} } as const
  const { id: sessionId } = await server.host.createSession(world.project, chosen)
  const session = await server.host.session(sessionId)
  const turn = async (message: string) => {
    await session.start(message, { permissionMode: 'bypassPermissions' })
    await session.settled()
    return session.log.lastSeq
  }
  const atSeq = await turn('First')
  await turn('Second')
  const filesOf = async (id: string) => {
    const { worktree } = (await server.host.session(id)).status
    const files = readdirSync(worktree?.folder ?? '').filter(name => !name.startsWith('.'))
    return { files: files.sort(), baseBranch: worktree?.baseBranch }
  }
  expect(await client.sessions.forkHistory.query({ sessionId, atSeq })).toBe('account')
  const early = await client.sessions.fork.mutate({ sessionId, atSeq })
  const whole = await client.sessions.fork.mutate({ sessionId, title: 'All of it' })
  expect(await filesOf(early.id)).toEqual({ files: ['a.txt', 'one'], baseBranch: 'main' })
  expect(await filesOf(whole.id)).toEqual({ files: ['a.txt', 'one', 'two'], baseBranch: 'main' })
  expect(await filesOf(sessionId)).toMatchObject({ files: ['a.txt', 'one', 'two'] })
  expect(new Set([early, whole, session.stored].map(({ worktree }) => worktree)).size).toBe(3)
  expect((await client.review.state.query({ sessionId: early.id }))?.uncommitted).toEqual(['one'])
  // Its agent works there, and knows the conversation from a transcript.
  const fork = await server.host.session(early.id)
  await fork.start('Go on')
  await fork.settled()
  expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('First')
  expect(readdirSync(world.project).filter(name => !name.startsWith('.'))).toEqual(['a.txt'])
})

test('worktrees are listed with their disk use, removed with what is kept, restored and forgotten, by REST too', async () => {
  const server = await serverWithRepository()
  const { client } = connect(server)
  const { project } = server
  const made = await server.post('/api/harness/session/create', {
    ...{ projectRoot: project, title: 'Fix it', worktree: { base: 'main' } },
  })
  const { session } = (await made.json()) as { session: { id: string; worktree: string } }
  const id = session.worktree
  const list = async () => (await (await server.fetch('/api/harness/worktrees')).json()) as unknown[]
  const { folder } = (await server.host.session(session.id)).status.worktree ?? {}
  expect(await list()).toEqual([
    expect.objectContaining({
      ...{ id, folder, projectRoot: project, branch: 'chirality/fix-it', baseBranch: 'main' },
      ...{ condition: 'ready', sessionId: session.id, sessionTitle: 'Fix it', kept: null },
      diskBytes: expect.any(Number),
    }),
  ])
  writeFileSync(path.join(folder ?? '', 'mine.txt'), 'x\n')
  rmSync(folder ?? '', { recursive: true })
  expect(await list()).toMatchObject([{ condition: 'missing' }])
  expect((await server.post(`/api/harness/worktrees/${id}/restore`, {})).status).toBe(204)
  expect(readFileSync(path.join(folder ?? '', 'a.txt'), 'utf8')).toBe('a\n')
  writeFileSync(path.join(folder ?? '', 'mine.txt'), 'x\n')
  expect((await server.post(`/api/harness/worktrees/${id}/forget`, {})).status).toBe(409)
  const removed = await server.fetch(`/api/harness/worktrees/${id}`, { method: 'DELETE' })
  expect(await removed.json()).toMatchObject({ kept: { commits: 0, files: 1 } })
  expect(await list()).toMatchObject([{ condition: 'removed', kept: { files: 1 } }])
  expect((await server.post(`/api/harness/worktrees/${id}/forget`, {})).status).toBe(204)
  expect(await client.worktrees.list.query()).toEqual([])
  expect((await server.fetch('/api/harness/worktrees/NO%2F..', { method: 'DELETE' })).status).toBe(404)
  await expect(client.worktrees.restore.mutate({ id })).rejects.toMatchObject({
    data: { reason: 'worktree-missing' },
  })
})

test('a plan says what a worktree would begin with, or why there can be none', async () => {
  const server = await serverWithRepository()
  const { client } = connect(server)
  const { project } = server
  writeFileSync(path.join(project, 'a.txt'), 'changed\n')
  expect(await client.worktrees.plan.query({ project })).toEqual({
    ...{ can: true, branches: ['main'], branch: 'main', commit: expect.stringMatching(/^[0-9a-f]{40}$/) },
    ...{ uncommitted: 1, hasLfsPointers: false, othersAtWork: 0 },
  })
  expect(await client.worktrees.plan.query({ project, base: 'nowhere' })).toMatchObject({
    can: false,
    reason: expect.stringContaining('no commit, branch or tag "nowhere"'),
  })
  rmSync(path.join(project, '.git'), { recursive: true })
  expect(await client.worktrees.plan.query({ project })).toMatchObject({ can: false, branches: [] })
  const refused = client.sessions.create.mutate({ project, worktree: {} })
  await expect(refused).rejects.toMatchObject({ data: { reason: 'worktree-refused' } })
  for (const base of ['', '-b', '--help', 'a\nb', 'x'.repeat(300)])
    await expect(client.sessions.create.mutate({ project, worktree: { base } })).rejects.toMatchObject({
      data: { reason: 'invalid-input' },
    })
  expect(await client.worktrees.list.query()).toEqual([])
})

test('a worktree of a project that is not registered can neither be seen nor removed', async () => {
  const server = await serverWithRepository()
  const { client } = connect(server)
  const other = path.join(path.dirname(server.project), 'other')
  mkdirSync(other)
  const repository = initRepository(other)
  repository.write('x', 'x')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'x')
  const { worktree } = await server.host.worktrees.make({ projectRoot: other, title: 'x' })
  expect(await client.worktrees.list.query()).toEqual([])
  for (const call of [client.worktrees.remove, client.worktrees.restore, client.worktrees.forget])
    await expect(call.mutate({ id: worktree.id })).rejects.toMatchObject({
      data: { reason: 'project-not-registered' },
    })
  await expect(client.worktrees.list.query({ project: other })).rejects.toMatchObject({
    data: { reason: 'project-not-registered' },
  })
})

test('a session of another project gives no access to its files', async () => {
  const server = await serverWithRepository()
  const { client } = connect(server)
  const { id: sessionId } = await client.sessions.create.mutate({ project: server.project, worktree: {} })
  const other = path.join(path.dirname(server.project), 'other')
  mkdirSync(other)
  await client.projects.register.mutate({ path: other })
  const read = client.files.tree.query({ project: other, sessionId, path: '' })
  await expect(read).rejects.toMatchObject({ data: { reason: 'not-found' } })
})

test('sessions that changed the same lines hear of each other, in worktrees and in one folder', async () => {
  const server = await serverWithRepository()
  const { client } = connect(server)
  const { project } = server
  const make = async (title: string, more: object = {}) =>
    (await client.sessions.create.mutate({ project, title, ...more })).id
  const one = await make('One', { worktree: {} })
  const two = await make('Two', { worktree: {} })
  const third = await make('Third')
  const fourth = await make('Fourth')
  const trees = new TurnTrees()
  let clock = 0
  const turn = async (sessionId: string, text: string) => {
    const folder = (await server.host.session(sessionId)).status.worktree?.folder ?? project
    const state = path.join(project, '.chirality', 'state', 'snapshots')
    mkdirSync(state, { recursive: true, mode: 0o700 })
    const repository = await findRepository(folder)
    if (repository === undefined) throw new Error('no repository')
    for (const when of ['before', 'after'] as const) {
      if (when === 'after') writeFileSync(path.join(folder, 'a.txt'), text)
      const { tree } = await takeSnapshot(repository, state)
      await trees.write(project, { sessionId, turnId: `turn-${sessionId}`, when, tree, at: ++clock })
    }
  }
  const ask = (sessionId: string) => client.worktrees.overlaps.query({ sessionId })
  expect(await ask(one)).toEqual([])
  await turn(one, 'by one\n')
  expect(await ask(one)).toEqual([])
  await turn(two, 'by two\n')
  const conflict = { path: 'a.txt', conflicts: true, own: [[1, 1]], theirs: [[1, 1]] }
  const other = { title: 'Two', sessionId: two, branch: 'chirality/two', inSameFolder: false }
  expect(await ask(one)).toEqual([{ ...other, files: [conflict] }])
  expect(await ask(two)).toMatchObject([{ sessionId: one, files: [conflict] }])
  await turn(third, 'a\nby the third\n')
  await turn(fourth, 'a\nby the third\nby the fourth\n')
  const beside = (await ask(third)).find(({ sessionId }) => sessionId === fourth)
  expect(beside).toMatchObject({
    ...{ inSameFolder: true, branch: null },
    files: [{ path: 'a.txt', conflicts: false, own: [[2, 2]], theirs: [[3, 3]] }],
  })
  await client.sessions.shelve.mutate({ sessionIds: [two, third, fourth], shelf: 'archived' })
  expect(await ask(one)).toEqual([])
  await expect(ask('b3f7a1c2-0000-4000-8000-00000000000f')).rejects.toMatchObject({
    data: { reason: 'not-found' },
  })
})

test('blame, by REST too: what is not text, too large, a link, outside of the project, or not there', async () => {
  const server = await serverWithRepository()
  const { project } = server
  const ask = async (file: string, more = '') => {
    const query = `projectRoot=${encodeURIComponent(project)}&path=${encodeURIComponent(file)}${more}`
    const response = await server.fetch(`/api/harness/blame?${query}`)
    const body = (await response.json()) as { lines?: unknown[]; error?: { code: string } }
    return body.lines ?? `${response.status} ${body.error?.code}`
  }
  writeFileSync(path.join(project, 'binary'), 'a\0b')
  symlinkSync('a.txt', path.join(project, 'inside.txt'))
  symlinkSync('/etc/passwd', path.join(project, 'outside.txt'))
  writeFileSync(path.join(project, 'huge.txt'), '')
  truncateSync(path.join(project, 'huge.txt'), 100 * 1024 * 1024)
  const first = { origin: { kind: 'commit', commit: { subject: 'first', author: 'a' } } }
  expect(await ask('a.txt')).toMatchObject([{ line: 1, count: 1, ...first }])
  expect(await ask('inside.txt', '&line=1')).toMatchObject([first])
  expect(await ask('a.txt', '&line=2')).toBe('400 invalid-input')
  expect(await ask('a.txt', '&line=-1')).toBe('400 invalid-input')
  expect(await ask('binary')).toBe('422 blame-refused')
  expect(await ask('huge.txt')).toBe('422 blame-refused')
  for (const file of ['outside.txt', '../other', '/etc/passwd', '.git/config', '.chirality/x'])
    expect(await ask(file), file).toBe('403 outside-project')
  expect(await ask('no-such.txt')).toBe('404 file-missing')
  expect(await ask('')).toBe('400 not-a-file')
})

const SLOW = { timeout: 30_000 }

async function serverWithRepository() {
  const server = await startTestServer()
  const repository = initRepository(server.project)
  repository.write('a.txt', 'a\n')
  repository.run('add', 'a.txt')
  repository.run('commit', '-qm', 'first')
  execFileSync('git', ['-C', server.project, 'branch', '-M', 'main'])
  return server
}
