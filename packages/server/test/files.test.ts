import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { readProjectFile } from '@chirality/centre'
import { isCodedError } from '@chirality/core'
import { confine } from '@chirality/workspaces'
import { expect, onTestFinished, test } from 'vitest'
import { createWorld, serveWorld } from './support/agents.ts'
import { startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'
import { SessionWatch } from './support/watch-session.ts'

async function projectWithFiles() {
  const server = await startTestServer()
  const { project } = server
  const put = (file: string, content: string | Buffer) => {
    mkdirSync(path.dirname(path.join(project, file)), { recursive: true })
    writeFileSync(path.join(project, file), content)
  }
  put('src/main.ts', 'export {}\n')
  put('a.txt', 'hello\n')
  put('.git/config', '[core]\n')
  put('src/.git/config', '[remote]\n')
  put('data.bin', Buffer.from([1, 0, 2]))
  put('latin.txt', Buffer.from([0xe4, 0xf6]))
  put('pixel.png', Buffer.from('89504e47', 'hex'))
  put('big.txt', `${'ä'.repeat(600_000)}`)
  writeFileSync(path.join(project, '..', 'secret.txt'), 'secret')
  mkdirSync(path.join(project, '..', 'project-evil'))
  writeFileSync(path.join(project, '..', 'project-evil', 'x.txt'), 'secret')
  symlinkSync('../secret.txt', path.join(project, 'link.txt'))
  symlinkSync('..', path.join(project, 'up'))
  symlinkSync('a.txt', path.join(project, 'inside.txt'))
  symlinkSync('.chirality', path.join(project, 'ours'))
  return { server, project, ...connect(server) }
}

test('the tree shows a folder, without what is git’s and ours', async () => {
  const { client, project } = await projectWithFiles()
  const { entries, left } = await client.files.tree.query({ project, path: '' })
  expect(entries.map(({ name, kind }) => `${kind} ${name}`)).toEqual([
    'folder src',
    'file a.txt',
    'file big.txt',
    'file data.bin',
    'link inside.txt',
    'file latin.txt',
    'link link.txt',
    'link ours',
    'file pixel.png',
    'link up',
  ])
  expect(left).toBe(0)
  expect(await client.files.tree.query({ project, path: 'src' })).toMatchObject({
    path: 'src',
    entries: [{ name: 'main.ts', path: 'src/main.ts', sizeBytes: 10 }],
  })
})

test('files with numbers in their names stand in the order of the numbers', async () => {
  const { client, project } = await projectWithFiles()
  mkdirSync(path.join(project, 'numbered'))
  for (const number of [10, 1, 11, 2]) writeFileSync(path.join(project, 'numbered', `mod${number}.js`), '')
  const { entries } = await client.files.tree.query({ project, path: 'numbered' })
  expect(entries.map(({ name }) => name)).toEqual(['mod1.js', 'mod2.js', 'mod10.js', 'mod11.js'])
})

test('files are shown as what they are', async () => {
  const { client, project } = await projectWithFiles()
  const read = (file: string) => client.files.read.query({ project, path: file })
  expect(await read('a.txt')).toMatchObject({ kind: 'text', text: 'hello\n', truncated: false })
  expect(await read('inside.txt')).toMatchObject({ kind: 'text', text: 'hello\n' })
  expect(await read('data.bin')).toMatchObject({ kind: 'binary', sizeBytes: 3 })
  expect(await read('latin.txt')).toMatchObject({ kind: 'binary' })
  expect(await read('pixel.png')).toMatchObject({ kind: 'image', mediaType: 'image/png', base64: 'iVBORw==' })
  const big = await read('big.txt')
  expect(big).toMatchObject({ kind: 'text', truncated: true, sizeBytes: 1_200_000 })
})

test('nothing outside of the project is read', async () => {
  const { client, project } = await projectWithFiles()
  const outside = [
    ...[
      '../secret.txt',
      'src/../../secret.txt',
      'link.txt',
      'up/secret.txt',
      '/etc/passwd',
      '../project-evil/x.txt',
    ],
    ...[
      '.git/config',
      '.GIT/config',
      '.chirality/sessions',
      'src/../.git/config',
      'src/.git/config',
      'ours/sessions',
      'a.txt\0.png',
      '..',
    ],
  ]
  for (const file of outside) {
    const answer = await client.files.read
      .query({ project, path: file })
      .catch((error: { data: unknown }) => error.data)
    expect(answer, file).toMatchObject({ code: expect.stringMatching(/FORBIDDEN|NOT_FOUND/) })
    await expect(confine(project, file), file).rejects.toSatisfy(isCodedError)
  }
})

test('a folder that is swapped for a link while files are read leads nowhere', async () => {
  const { project } = await projectWithFiles()
  const [folder, aside, link] = ['swap', 'aside', 'evil'].map(name => path.join(project, name)) as [
    string,
    string,
    string,
  ]
  mkdirSync(folder)
  writeFileSync(path.join(folder, 'x.txt'), 'mine')
  symlinkSync('../project-evil', link)
  let isOver = false
  const swapping = (async () => {
    while (!isOver) {
      await rename(folder, aside)
      await rename(link, folder)
      await rename(folder, link)
      await rename(aside, folder)
    }
  })()
  const texts = new Set<string>()
  for (let i = 0; i < 500; i++) {
    const file = await readProjectFile(project, 'swap/x.txt').catch(() => undefined)
    if (file?.kind === 'text') texts.add(file.text)
  }
  isOver = true
  await swapping
  expect([...texts].filter(text => text !== 'mine')).toEqual([])
})

test('a FIFO in the project does not block the server', async () => {
  const { client, project } = await projectWithFiles()
  execFileSync('mkfifo', [path.join(project, 'pipe')])
  const answer = await client.files.read
    .query({ project, path: 'pipe' })
    .catch((error: { data: unknown }) => error.data)
  expect(answer).toMatchObject({ reason: 'not-a-file' })
})

test('a path that is no file, or no folder, gets an error', async () => {
  const { client, project, server } = await projectWithFiles()
  const listener = createServer().listen(path.join(project, 'socket'))
  onTestFinished(() => void listener.close())
  await once(listener, 'listening')
  const reasonOf = (call: Promise<unknown>) =>
    call.catch((error: { data: { reason: string } }) => error.data.reason)
  expect(await reasonOf(client.files.read.query({ project, path: 'socket' }))).toBe('not-a-file')
  expect(await reasonOf(client.files.read.query({ project, path: 'src' }))).toBe('not-a-file')
  expect(await reasonOf(client.files.read.query({ project, path: 'a.txt/b' }))).toBe('file-missing')
  expect(await reasonOf(client.files.read.query({ project, path: 'x'.repeat(4000) }))).toBe('file-missing')
  expect(await reasonOf(client.files.tree.query({ project, path: 'a.txt' }))).toBe('not-a-folder')
  expect(await reasonOf(client.files.tree.query({ project, path: 'gone' }))).toBe('file-missing')
  expect(server.faults).toEqual([])
})

test('a turn of Codex shows its diff where there is no git', async () => {
  const input =
    '*** Begin Patch\n*** Add File: new.txt\n+new line\n*** Update File: old.txt\n@@\n-old\n+changed\n*** End Patch\n'
  const world = await createWorld({ answers: [{ tool: 'apply_patch', input }], otherwise: 'Done.' })
  writeFileSync(path.join(world.project, 'old.txt'), 'old\n')
  const server = await serveWorld(world)
  const { client } = connect(server)
  const options = { project: world.project, harness: 'codex' }
  const { id: sessionId } = await client.sessions.create.mutate(options)
  const watch = new SessionWatch(client, sessionId)
  const { turnId } = await client.turns.start.mutate({
    ...{ sessionId, message: 'Go' },
    options: { permissionMode: 'bypassPermissions' },
  })
  await watch.until('turn:end')
  const { source, files, patch } = await client.files.turnDiff.query({ sessionId, turnId })
  expect({ source, files }).toEqual({
    source: 'tools',
    files: [
      { path: 'new.txt', kind: 'added', added: 1, removed: 0 },
      { path: 'old.txt', kind: 'changed', added: 1, removed: 1 },
    ],
  })
  expect(patch).toContain('-old\n+changed\n')
})

test('files are found by letters of their path, names first, and nothing of git’s or ours', async () => {
  const { client, project } = await projectWithFiles()
  mkdirSync(path.join(project, 'node_modules', 'x'), { recursive: true })
  writeFileSync(path.join(project, 'node_modules', 'x', 'main.ts'), '')
  const find = (query: string, limit?: number) => client.files.find.query({ project, query, limit })
  expect(await find('main')).toEqual(['src/main.ts'])
  expect(await find('SRC')).toEqual(['src/main.ts'])
  expect(await find('smts')).toEqual(['src/main.ts'])
  expect(await find('txt', 2)).toHaveLength(2)
  expect(await find('config')).toEqual([])
  expect(await find('secret')).toEqual([])
  expect(await find('no such file')).toEqual([])
})

test('in a repository what git ignores is not found, what is new is', async () => {
  const server = await startTestServer()
  const { project } = server
  const { client } = connect(server)
  execFileSync('git', ['init', '-q'], { cwd: project })
  writeFileSync(path.join(project, '.gitignore'), 'built.js\n')
  for (const file of ['built.js', 'built.ts']) writeFileSync(path.join(project, file), '')
  expect(await client.files.find.query({ project, query: 'built' })).toEqual(['built.ts'])
})
