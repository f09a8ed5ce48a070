import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ProjectRegistry } from '@chirality/centre'
import { expect, onTestFinished, test } from 'vitest'
import { readServerFile } from '../src/index.ts'
import { writeServerFile } from '../src/system/server-file.ts'
import { FOLDERS, startRegistering } from './support/registering.ts'
import { startTestServer } from './support/test-server.ts'

function createFolder(): { folder: string; home: string; project: string } {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-user-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [home, project] = [path.join(folder, 'home'), path.join(folder, 'project')]
  mkdirSync(home, { mode: 0o700 })
  mkdirSync(project)
  return { folder, home, project }
}

/** Where the registry keeps the only project that was added. */
function entryIn(home: string): string {
  const [name = '', ...more] = readdirSync(path.join(home, 'trusted'))
  expect(more).toEqual([])
  return path.join(home, 'trusted', name)
}

/** Only Linux has all of 127/8 without being asked. */
const OTHER_ADDRESS = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1'

const SERVERS = 3

const SERVER = { url: 'http://127.0.0.1:1', token: 't', pid: 1 }

test('an unreadable file registers no project, hides no other project, and is written again', async () => {
  const { home, folder, project } = createFolder()
  const registry = new ProjectRegistry(home)
  await registry.add(project)
  writeFileSync(entryIn(home), '{"root":"/dear/to/', { mode: 0o600 })
  expect(await registry.list()).toEqual([])
  await expect(registry.require(project)).rejects.toMatchObject({ code: 'project-not-registered' })
  await registry.add(folder)
  expect(await registry.list()).toMatchObject([{ root: folder }])
  await registry.add(project)
  expect(await registry.list()).toMatchObject([{ root: folder }, { root: project }])
})

test('a file that says another folder than its name registers neither', async () => {
  const { home, folder, project } = createFolder()
  const registry = new ProjectRegistry(home)
  await registry.add(project)
  writeFileSync(entryIn(home), JSON.stringify({ root: folder, name: 'x', addedAt: 'x' }), { mode: 0o600 })
  expect(await registry.list()).toEqual([])
  await expect(registry.require(folder)).rejects.toMatchObject({ code: 'project-not-registered' })
  await expect(registry.require(project)).rejects.toMatchObject({ code: 'project-not-registered' })
})

test('a file that other users can write is ignored', async () => {
  const { home, project } = createFolder()
  const registry = new ProjectRegistry(home)
  await registry.add(project)
  chmodSync(entryIn(home), 0o666)
  await expect(registry.require(project)).rejects.toMatchObject({ code: 'unsafe' })
  await expect(registry.add(project)).rejects.toThrow('can be written by others')
  chmodSync(entryIn(home), 0o600)
  expect(await registry.require(project)).toBe(project)
})

test('a pipe in its place holds nobody up', async () => {
  const { home, project } = createFolder()
  const registry = new ProjectRegistry(home)
  await registry.add(project)
  const file = entryIn(home)
  rmSync(file)
  execFileSync('mkfifo', ['-m', '600', file])
  await registry.add(project)
  expect(await registry.list()).toMatchObject([{ root: project }])
})

test('nothing is written through a link', async () => {
  const { folder, home, project } = createFolder()
  const registry = new ProjectRegistry(home)
  await registry.add(project)
  const file = entryIn(home)
  const elsewhere = path.join(folder, 'elsewhere')
  mkdirSync(elsewhere)
  writeFileSync(path.join(elsewhere, 'mine'), '{}', { mode: 0o600 })
  rmSync(file)
  symlinkSync(path.join(elsewhere, 'mine'), file)
  await registry.add(project)
  expect(readFileSync(path.join(elsewhere, 'mine'), 'utf8')).toBe('{}')
  symlinkSync(elsewhere, path.join(home, 'servers'))
  await expect(writeServerFile(home, SERVER)).rejects.toMatchObject({ code: 'unsafe' })
  expect(readdirSync(elsewhere)).toEqual(['mine'])
})

test('servers that change the projects at the same time lose nothing of each other', async () => {
  const { folder, home } = createFolder()
  const shared = path.join(folder, 'shared')
  mkdirSync(shared)
  const names = Array.from({ length: SERVERS }, (_, index) => `server-${index}`)
  const servers = await startRegistering(home, folder, names)
  await Promise.all(servers.map(server => server.change()))
  const registered = (await new ProjectRegistry(home).list()).map(({ root, name }) => `${root} ${name}`)
  // Each adds its folders, forgets every second, and one of them names the one that all add.
  const kept = servers.flatMap(({ name }) =>
    Array.from(
      { length: FOLDERS / 2 },
      (_, i) => `${path.join(folder, `${name}-${2 * i + 1}`)} ${name}-${2 * i + 1}`,
    ),
  )
  expect(registered.sort()).toEqual([...kept, `${shared} Named`].sort())
  const left = readdirSync(path.join(home, 'trusted')).filter(name => name.includes('tmp'))
  expect(left).toEqual([])
})

test('the token is not read from a file that other users can write', async () => {
  const { home } = createFolder()
  await writeServerFile(home, SERVER)
  const [name = ''] = readdirSync(path.join(home, 'servers'))
  const file = path.join(home, 'servers', name)
  expect([statSync(file).mode & 0o777, statSync(path.dirname(file)).mode & 0o777]).toEqual([0o600, 0o700])
  expect(await readServerFile(home, SERVER.url)).toEqual(SERVER)
  expect(await readServerFile(home, 'http://127.0.0.1:2')).toBeUndefined()
  chmodSync(file, 0o620)
  expect(await readServerFile(home, SERVER.url)).toBeUndefined()
})

test('an unusable data folder gets an error that says what to do', async () => {
  const { folder, project } = createFolder()
  writeFileSync(path.join(folder, 'file'), '')
  const registry = new ProjectRegistry(path.join(folder, 'file', 'home'))
  await expect(registry.add(project)).rejects.toThrow('CHIRALITY_HOME names another')
})

test('a stopped server has no token file, and another address of this machine is its name, too', async () => {
  const server = await startTestServer({ host: OTHER_ADDRESS })
  expect((await server.fetch('/trpc/system.info')).status).toBe(200)
  const other = await server.fetch('/trpc/system.info', { headers: { origin: 'http://127.0.0.3' } })
  expect(other.status).toBe(403)
  const [name = ''] = readdirSync(path.join(server.home, 'servers'))
  await server.close()
  expect(existsSync(path.join(server.home, 'servers', name))).toBe(false)
})
