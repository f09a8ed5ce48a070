import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { FileMoves, findRepository, goBack, type TurnTreePair } from '@chirality/workspaces'
import { expect, onTestFinished, test } from 'vitest'
import { createWorld, serveWorld } from './support/agents.ts'
import { withRepository } from './support/repository.ts'
import { connect } from './support/trpc-client.ts'
import { SessionWatch } from './support/watch-session.ts'

const LINES = Array.from({ length: 30 }, (_, i) => `line ${i + 1}`)

const text = (lines: readonly string[]) => `${lines.join('\n')}\n`

// It goes through all of a review, with three turns and a second server: the limit only ends what hangs.
test('a session is reviewed: a hunk taken back and told, a commit, a merge, and back to before a turn', {
  timeout: 400_000,
}, async () => {
  const edit = "sed -i 's/^line 2$/AGENT 2/; s/^line 29$/AGENT 29/' a.txt; echo made > made.txt"
  const world = await createWorld({
    answers: [
      { tool: 'bash', input: { command: edit } },
      'Changed.',
      { tool: 'bash', input: { command: 'echo second > second.txt' } },
      'Again.',
      'Only words.',
    ],
  })
  const git = (...args: string[]) => execFileSync('git', args, { cwd: world.project, encoding: 'utf8' })
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 'A User')
  git('config', 'user.email', 'user@example')
  writeFileSync(path.join(world.project, 'a.txt'), text(LINES))
  git('add', '.')
  git('commit', '-qm', 'first')
  const start = async () => {
    const started = await serveWorld(world)
    return started
  }
  const server = await start()
  const { client } = connect(server)
  const { id: sessionId } = await server.host.createSession(world.project, {
    ...{ harness: 'messages-api', title: 'Number the lines', permissionMode: 'default', worktree: {} },
  })
  const folder = (await server.host.session(sessionId)).status.worktree?.folder ?? ''
  const watch = new SessionWatch(client, sessionId)
  const turn = async (message: string) => {
    const { turnId } = await client.turns.start.mutate({ sessionId, message })
    const { requestId } = await watch.until('permission:request', (_, of) => of.turnId === turnId)
    // The files before the turn are recorded when this is answered.
    await client.review.state.query({ sessionId })
    await client.decisions.answer.mutate({ sessionId, requestId, decision: { behavior: 'allow' } })
    const end = await watch.until('turn:end', (_, of) => of.turnId === turnId)
    expect(end).toMatchObject({ reason: 'completed' })
    await expect.poll(() => phaseOf(sessionId)).toBe('idle')
    return turnId
  }
  const phaseOf = async (id: string) => (await client.sessions.get.query({ sessionId: id })).status
  const turnId = await turn('Number them.')
  const state = async () => {
    const found = await client.review.state.query({ sessionId })
    if (found === null) throw new Error('no git')
    return found
  }
  expect(await state()).toMatchObject({
    branches: { branch: 'chirality/number-the-lines', base: 'main', ahead: 0, uncommitted: 2, conflicts: [] },
    proposedMessage: 'Number the lines\n\n- Number them.\n\nFiles: a.txt, made.txt',
    uncommitted: ['a.txt', 'made.txt'],
  })
  const inFolder = (file: string) => readFileSync(path.join(folder, file), 'utf8')

  // The whole of a changed file, as it was and as it became; nothing of it outside of the repository.
  const file = (path: string, side: 'old' | 'new') => client.review.file.query({ sessionId, path, side })
  expect(await file('a.txt', 'old')).toEqual({ kind: 'text', text: text(LINES) })
  expect(await file('a.txt', 'new')).toEqual({ kind: 'text', text: inFolder('a.txt') })
  expect(await file('made.txt', 'old')).toBeNull()
  const outside = await file('../a.txt', 'new').catch((error: Error) => error)
  expect(outside).toBeInstanceOf(Error)

  // One hunk goes, is brought back, and goes again.
  const first = {
    oldStart: 1,
    newStart: 1,
    lines: [' line 1', '-line 2', '+AGENT 2', ' line 3', ' line 4', ' line 5'],
  }
  const files = [{ path: 'a.txt', hunks: [first] }]
  const { id } = await client.review.discard.mutate({ sessionId, turnId, files })
  expect(inFolder('a.txt')).toBe(text(LINES.map(line => (line === 'line 29' ? 'AGENT 29' : line))))
  const again = await client.review.discard
    .mutate({ sessionId, turnId, files })
    .catch((error: Error) => error)
  expect(again).toMatchObject({ data: { reason: 'review-refused' } })
  expect(await client.review.undo.mutate({ sessionId, id })).toMatchObject({ state: 'undone' })
  expect(inFolder('a.txt')).toContain('AGENT 2\n')
  await client.review.redo.mutate({ sessionId, id })
  const after = await state()
  expect(after.moves).toMatchObject([{ id, state: 'done', files: ['a.txt'] }])
  // What the agent will be told, and in which order.
  expect(after.untold).toEqual([
    expect.stringContaining('The user took back changes of yours'),
    expect.stringContaining('The user undid this'),
    expect.stringContaining('The user did this again'),
  ])

  // The agent hears of it once, with the next message; the log has the message alone.
  const second = await turn('Go on.')
  const sent = JSON.stringify(world.model.requests.at(-1)?.body)
  expect(sent).toContain('The user took back changes of yours')
  expect(sent).toContain('-line 2')
  const { text: exported } = await client.sessions.export.query({ sessionId, format: 'ndjson' })
  expect(exported).toContain('"message":"Go on."')
  expect((await state()).untold).toEqual([])

  // Back to before the second turn: the files, and a session that ends before it.
  expect(await client.review.backPlan.query({ sessionId, turnId: second })).toMatchObject({
    ...{ files: ['second.txt'], changedSince: [] },
    cannotUndo: [expect.stringContaining('1 command'), expect.any(String), expect.any(String)],
  })
  const back = await client.review.back.mutate({ sessionId, turnId: second })
  expect(back).toMatchObject({ prompt: 'Go on.', session: { turnCount: 1, title: 'Number the lines' } })
  expect(existsSync(path.join(folder, 'second.txt'))).toBe(false)
  expect(await client.sessions.get.query({ sessionId })).toMatchObject({ shelf: 'archived' })
  const earlier = await client.files.turnDiff.query({ sessionId: back.session.id, turnId })
  expect(earlier).toMatchObject({ source: 'git', files: [{ path: 'a.txt' }, { path: 'made.txt' }] })
  // From a browser that does not know the way back, it is undone in the session before.
  const moveId = back.moveId ?? ''
  const left = { id: moveId, what: 'Back to before: Go on.', state: 'done', files: ['second.txt'] }
  expect((await state()).moves).toMatchObject([left, { id }])
  await client.review.undo.mutate({ sessionId, id: moveId })
  expect(inFolder('second.txt')).toBe('second\n')
  const shelves = async () => {
    const sessions = [sessionId, back.session.id].map(one => client.sessions.get.query({ sessionId: one }))
    return (await Promise.all(sessions)).map(({ shelf }) => shelf)
  }
  expect(await shelves()).toEqual([null, 'archived'])
  expect((await state()).moves).toMatchObject([{ id }])
  await client.review.redo.mutate({ sessionId, id: moveId })
  expect(existsSync(path.join(folder, 'second.txt'))).toBe(false)
  expect(await shelves()).toEqual(['archived', null])
  const undoBack = () =>
    client.review.undoBack.mutate({ sessionId: back.session.id, from: sessionId, moveId: back.moveId })
  await undoBack()
  expect(inFolder('second.txt')).toBe('second\n')
  expect(await shelves()).toEqual([null, 'archived'])
  // The files are back already.
  await undoBack()
  expect(inFolder('second.txt')).toBe('second\n')
  // A turn whose files were not recorded is named: what it changed stays.
  const recorded = path.join(world.project, '.chirality/state/snapshots', `${sessionId}.json`)
  const trees = readFileSync(recorded, 'utf8')
  const planned = async () => (await client.review.backPlan.query({ sessionId, turnId })).cannotUndo
  expect(await planned()).toHaveLength(3)
  writeFileSync(recorded, JSON.stringify({ ...JSON.parse(trees), [second]: undefined }))
  expect(await planned()).toContainEqual(expect.stringContaining('The files around 1 turn since then'))
  writeFileSync(recorded, trees)
  // The worktree belongs to both: it stays when one of them is deleted.
  await client.sessions.delete.mutate({ sessionId: back.session.id })
  expect(inFolder('made.txt')).toBe('made\n')
  const redone = await client.review.redo.mutate({ sessionId, id: moveId }).catch((error: Error) => error)
  expect(redone).toMatchObject({ message: expect.stringContaining('Go back again instead') })
  expect(inFolder('second.txt')).toBe('second\n')

  const merge = () => client.review.merge.mutate({ sessionId, how: 'squash', message: 'Numbered' })
  expect(await merge().catch((error: Error) => error)).toMatchObject({ data: { reason: 'review-refused' } })
  // A turn that begins while files are worked on waits until that is over.
  const [begun = '', goOn = ''] = ['begun', 'go-on'].map(name => path.join(world.home, name))
  const hook = `#!/bin/sh\ntouch '${begun}'\nuntil [ -e '${goOn}' ]; do sleep 0.05; done\n`
  writeFileSync(path.join(world.project, '.git/hooks/pre-commit'), hook, { mode: 0o755 })
  const committing = client.review.commit.mutate({ sessionId, message: 'Number the lines', hooks: true })
  await expect.poll(() => existsSync(begun)).toBe(true)
  const third = client.turns.start.mutate({ sessionId, message: 'Talk.' })
  await expect.poll(() => phaseOf(sessionId)).toBe('running')
  // Long enough for a turn that does not wait.
  for (let round = 0; round < 4; round += 1) await state()
  writeFileSync(goOn, '')
  const made = await committing
  const { turnId: talk } = await third
  await watch.until('turn:end', (_, of) => of.turnId === talk)
  await expect.poll(() => phaseOf(sessionId)).toBe('idle')
  const { text: log } = await client.sessions.export.query({ sessionId, format: 'ndjson' })
  const at = (words: string) => log.split('\n').findIndex(line => line.includes(words))
  expect(at('Committed 3 files')).toBeGreaterThan(0)
  expect(at('Committed 3 files')).toBeLessThan(at('"message":"Talk."'))
  expect(made.files).toEqual(['a.txt', 'made.txt', 'second.txt'])
  // Committed is not merged: the branch still differs from its base, also by files that no commit has.
  writeFileSync(path.join(folder, 'loose.txt'), 'loose\n')
  const branch = await client.review.branchDiff.query({ sessionId })
  expect(branch?.files.map(({ path: name }) => name)).toEqual([
    'a.txt',
    'loose.txt',
    'made.txt',
    'second.txt',
  ])
  expect(await client.review.file.query({ sessionId, since: 'base', path: 'a.txt', side: 'old' })).toEqual({
    ...{ kind: 'text', text: text(LINES) },
  })
  rmSync(path.join(folder, 'loose.txt'))
  expect(await merge()).toMatchObject({ kind: 'merged', how: 'squash' })
  expect(git('log', '--format=%s|%an', 'main').split('\n')[0]).toBe('Numbered|A User')
  expect(readFileSync(path.join(world.project, 'a.txt'), 'utf8')).toContain('AGENT 29\n')
  expect(git('status', '--porcelain')).toBe('')

  // A server that is killed when the files went back, and the conversation did not: the next one finishes it.
  await server.close()
  const repository = await findRepository(folder)
  if (repository === undefined) throw new Error('no repository')
  const killed = new Promise<void>(resolve => {
    const moves = new FileMoves(repository, sessionId, () => {
      resolve()
      return new Promise(() => {})
    })
    const turns = Object.values(JSON.parse(readFileSync(recorded, 'utf8')) as Record<string, TurnTreePair>)
    void goBack(repository, moves, {
      ...{ turns: turns.slice(1), stateFolder: path.dirname(recorded), overwrite: [], what: 'Back' },
      cause: { kind: 'back', turnId: second, sessionId: 'after-the-kill' },
    })
  })
  await killed
  expect(existsSync(path.join(folder, 'second.txt'))).toBe(false)
  const next = await start()
  const { client: later } = connect(next)
  await later.review.state.query({ sessionId })
  expect(await later.sessions.get.query({ sessionId })).toMatchObject({ shelf: 'archived' })
  const found = await later.sessions.get.query({ sessionId: 'after-the-kill' })
  expect(found).toMatchObject({ turnCount: 1, shelf: null, title: 'Number the lines' })
  const [kept] = (await later.review.state.query({ sessionId }))?.moves ?? []
  await later.review.undo.mutate({ sessionId, id: kept?.id ?? '' })
  expect(inFolder('second.txt')).toBe('second\n')
  expect(await later.sessions.get.query({ sessionId })).toMatchObject({ shelf: null })
})

test('a fork whose files cannot be made leaves neither a session nor a worktree', async () => {
  const { server, client, project } = await withRepository()
  const { id: sessionId } = await client.sessions.create.mutate({ project, title: 'Large', worktree: {} })
  const folder = (await server.host.session(sessionId)).status.worktree?.folder ?? ''
  // Too large for a snapshot, so the fork cannot get it.
  writeFileSync(path.join(folder, 'large.bin'), '')
  truncateSync(path.join(folder, 'large.bin'), 6 * 1024 * 1024)
  const refused = await client.sessions.fork.mutate({ sessionId }).catch((error: Error) => error)
  expect(refused).toMatchObject({ data: { reason: 'review-refused' } })
  expect((await server.host.store.list(project)).map(({ id }) => id)).toEqual([sessionId])
  expect((await server.host.worktrees.list()).map(({ folder: one }) => one)).toEqual([folder])
  expect(server.faults).toEqual([])
})

test('a move that cannot be finished does not keep those of other sessions half done', async () => {
  const { server, client, repository, project } = await withRepository({ projects: [] })
  await client.projects.register.mutate({ path: project })
  const create = async () => (await client.sessions.create.mutate({ project })).id
  const [broken = '', other = ''] = [await create(), await create()].sort()
  // The first review opens the project again, and with that its moves are looked at.
  await server.host.closeProject(project)
  const git = (...args: string[]) => repository.run(...args).trim()
  // Without a commit before it nobody knows what the files were.
  git('update-ref', `refs/chirality/moving/${broken}`, 'HEAD')
  repository.write('a.txt', 'b\n')
  git('commit', '-qam', 'second')
  const moved = git('commit-tree', 'HEAD^^{tree}', '-p', 'HEAD', '-m', 'Discarded a.txt')
  git('update-ref', `refs/chirality/moving/${other}`, moved)
  expect(await client.review.state.query({ sessionId: broken })).not.toBeNull()
  expect(readFileSync(path.join(project, 'a.txt'), 'utf8')).toBe('a\n')
  const left = () => git('for-each-ref', '--format=%(refname)', 'refs/chirality/moving')
  expect(left()).toBe(`refs/chirality/moving/${broken}`)

  // Once: what is under way from now on is a move of this server.
  git('update-ref', `refs/chirality/moving/${other}`, moved)
  await client.review.state.query({ sessionId: other })
  expect(left().split('\n')).toEqual([broken, other].map(id => `refs/chirality/moving/${id}`))
})

test('a session whose base branch was renamed is still reviewed', async () => {
  const { server, client, repository, project } = await withRepository()
  const { id: sessionId } = await client.sessions.create.mutate({ project, title: 'Base', worktree: {} })
  const folder = (await server.host.session(sessionId)).status.worktree?.folder ?? ''
  writeFileSync(path.join(folder, 'a.txt'), 'changed\n')
  repository.run('branch', '-m', 'main', 'trunk')
  const state = await client.review.state.query({ sessionId })
  expect(state).toMatchObject({ branches: null, uncommitted: ['a.txt'] })
  const merge = await client.review.merge.mutate({ sessionId, how: 'merge' }).catch((error: Error) => error)
  expect(merge).toMatchObject({ data: { reason: 'review-refused' } })
})

test('a session that is being moved is not reviewed here, and what was done before is said to be done', async () => {
  const { server, client, repository, project } = await withRepository()
  const remote = mkdtempSync(path.join(tmpdir(), 'chirality-remote-'))
  onTestFinished(() => rmSync(remote, { recursive: true, force: true }))
  execFileSync('git', ['init', '-q', '--bare', remote])
  repository.run('remote', 'add', 'origin', remote)
  const { id: sessionId } = await client.sessions.create.mutate({ project, title: 'Moved', worktree: {} })
  const folder = (await server.host.session(sessionId)).status.worktree?.folder ?? ''
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim()
  git('config', 'user.name', 'A User')
  git('config', 'user.email', 'user@example.com')
  writeFileSync(path.join(folder, 'a.txt'), 'b\n')
  const commit = git('rev-parse', 'HEAD')
  const move = { id: 'move-000000000000', from: 'one', to: 'two' }
  const parcels = mkdtempSync(path.join(remote, 'parcel-'))
  await server.host.moves.pack(sessionId, { move, haves: [commit], folder: parcels })

  const calls = [
    client.review.commit.mutate({ sessionId, message: 'Second' }),
    client.review.discard.mutate({ sessionId, files: [{ path: 'a.txt' }] }),
    client.review.merge.mutate({ sessionId, how: 'merge' }),
    client.review.push.mutate({ sessionId, commit, url: remote }),
  ]
  for (const call of calls)
    expect(await call.catch((error: Error) => error)).toMatchObject({
      message: expect.stringContaining('is being moved to the machine two'),
      data: { reason: 'busy' },
    })
  expect(git('rev-parse', 'HEAD')).toBe(commit)
  expect(readFileSync(path.join(folder, 'a.txt'), 'utf8')).toBe('b\n')
  expect(execFileSync('git', ['for-each-ref'], { cwd: remote, encoding: 'utf8' })).toBe('')

  // A move that begins while the commit is made: the commit is there, and is answered.
  server.host.moves.keep(sessionId, move.id)
  const [begun, go] = [path.join(remote, 'begun'), path.join(remote, 'go')]
  const hook = path.join(project, '.git/hooks/pre-commit')
  mkdirSync(path.dirname(hook), { recursive: true })
  writeFileSync(hook, `#!/bin/sh\ntouch '${begun}'\nuntil [ -e '${go}' ]; do sleep 0.05; done\n`, {
    mode: 0o755,
  })
  const made = client.review.commit.mutate({ sessionId, message: 'Second', hooks: true })
  await expect.poll(() => existsSync(begun), { timeout: 60_000 }).toBe(true)
  await server.host.moves.refuse(sessionId, { ...move, id: 'epoch-2' })
  writeFileSync(go, '')
  expect(await made).toMatchObject({ files: ['a.txt'] })
  expect(git('log', '-1', '--format=%s')).toBe('Second')
})

test('a move that begins while a commit is made waits for it: the commit is in the parcel', async () => {
  const { server, client, repository, project } = await withRepository()
  const place = mkdtempSync(path.join(tmpdir(), 'chirality-packed-'))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  const { id: sessionId } = await client.sessions.create.mutate({ project, title: 'Moved', worktree: {} })
  const folder = (await server.host.session(sessionId)).status.worktree?.folder ?? ''
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim()
  git('config', 'user.name', 'A User')
  git('config', 'user.email', 'user@example.com')
  writeFileSync(path.join(folder, 'a.txt'), 'b\n')
  const base = git('rev-parse', 'HEAD')
  const [begun, go] = [path.join(place, 'begun'), path.join(place, 'go')]
  const wait = `#!/bin/sh\ntouch '${begun}'\nuntil [ -e '${go}' ]; do sleep 0.05; done\n`
  mkdirSync(path.join(project, '.git/hooks'), { recursive: true })
  writeFileSync(path.join(project, '.git/hooks/pre-commit'), wait, { mode: 0o755 })
  const made = client.review.commit.mutate({ sessionId, message: 'Second', hooks: true })
  await expect.poll(() => existsSync(begun), { timeout: 60_000 }).toBe(true)

  const move = { id: 'move-000000000000', from: 'one', to: 'two' }
  let isPacked = false
  const packed = server.host.moves.pack(sessionId, { move, haves: [base], folder: place }).finally(() => {
    isPacked = true
  })
  // No other deed begins meanwhile, and the pack has nothing of a commit that is half made.
  await expect.poll(() => server.host.moves.leaving(sessionId)).toMatchObject(move)
  const next = client.review.discard
    .mutate({ sessionId, files: [{ path: 'a.txt' }] })
    .catch((error: Error) => error.message)
  // A copy waits for nobody: the move began before, and would have been packed before the second.
  for (const id of ['copy-000000000000', 'copy-111111111111']) {
    const copies = mkdtempSync(path.join(place, 'copy-'))
    await server.host.moves.copy(sessionId, { move: { ...move, id }, haves: [base], folder: copies })
  }
  expect([isPacked, git('rev-parse', 'HEAD')]).toEqual([false, base])
  writeFileSync(go, '')
  expect(await next).toContain('is being moved to the machine two')
  expect(await made).toMatchObject({ files: ['a.txt'] })
  const { work, bundle } = await packed
  const commit = git('rev-parse', 'HEAD')
  expect(commit).not.toBe(base)
  expect(work).toMatchObject({ head: commit })
  expect(repository.run('bundle', 'list-heads', bundle)).toContain(commit)
})
