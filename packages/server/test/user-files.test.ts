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
import { expect, onTestFinished, test } from 'vitest'
import { readServerFile } from '../src/index.ts'
import { ProjectRegistry } from '../src/projects/project-registry.ts'
import { writeServerFile } from '../src/system/server-file.ts'
import { startTestServer } from './support/test-server.ts'

function createFolder(): { folder: string; home: string; project: string; file: string } {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-user-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [home, project] = [path.join(folder, 'home'), path.join(folder, 'project')]
  mkdirSync(home, { mode: 0o700 })
  mkdirSync(project)
  return { folder, home, project, file: path.join(home, 'projects.json') }
}

/** Only Linux has all of 127/8 without being asked. */
const OTHER_ADDRESS = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1'

const SERVER = { url: 'http://127.0.0.1:1', token: 't', pid: 1 }

test('a list of projects that cannot be read is set aside, not written over', async () => {
  const { home, project, file } = createFolder()
  writeFileSync(file, '{"projects":[{"root":"/dear/to/', { mode: 0o600 })
  const registry = new ProjectRegistry(home)
  expect(await registry.list()).toEqual([])
  await registry.add(project)
  expect(await registry.list()).toMatchObject([{ root: project }])
  const [aside = ''] = readdirSync(home).filter(name => name.includes('damaged'))
  expect(readFileSync(path.join(home, aside), 'utf8')).toContain('/dear/to/')
})

test('a list of projects that others can write is not the word of the user', async () => {
  const { home, project, file } = createFolder()
  writeFileSync(file, JSON.stringify({ projects: [{ root: project, name: 'x', addedAt: 'x' }] }))
  chmodSync(file, 0o666)
  const registry = new ProjectRegistry(home)
  await expect(registry.require(project)).rejects.toMatchObject({ code: 'unsafe' })
  await expect(registry.add(project)).rejects.toThrow('can be written by others')
  chmodSync(file, 0o600)
  expect(await new ProjectRegistry(home).require(project)).toBe(project)
})

test('a pipe in its place holds nobody up', async () => {
  const { home, project, file } = createFolder()
  execFileSync('mkfifo', ['-m', '600', file])
  const registry = new ProjectRegistry(home)
  await registry.add(project)
  expect(await registry.list()).toMatchObject([{ root: project }])
})

test('nothing is written through a link', async () => {
  const { folder, home, project, file } = createFolder()
  const elsewhere = path.join(folder, 'elsewhere')
  mkdirSync(elsewhere)
  writeFileSync(path.join(elsewhere, 'mine'), '{"projects":[]}', { mode: 0o600 })
  symlinkSync(path.join(elsewhere, 'mine'), file)
  await new ProjectRegistry(home).add(project)
  expect(readFileSync(path.join(elsewhere, 'mine'), 'utf8')).toBe('{"projects":[]}')
  symlinkSync(elsewhere, path.join(home, 'servers'))
  await expect(writeServerFile(home, SERVER)).rejects.toMatchObject({ code: 'unsafe' })
  expect(readdirSync(elsewhere)).toEqual(['mine'])
})

test('the token is read only from a file that nobody else can write', async () => {
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

test('a data folder that cannot be used is told, with what to do', async () => {
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
