import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { OwnSetups } from './own-setups.ts'

const SETUP = { copy: ['.env*'], share: [], clone: [], command: 'make up', minutes: 5, variables: {} }

let folder: string
let project: string
let setups: OwnSetups

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'chirality-own-setups-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  project = join(folder, 'project')
  mkdirSync(project)
  setups = new OwnSetups({ home: join(folder, 'home') })
})

const onlyFile = () => join(folder, 'home/setups', readdirSync(join(folder, 'home/setups'))[0] ?? '')

test('a set-up is kept for its project alone, replaced as a whole, and removed', async () => {
  expect(setups.get(project)).toBeUndefined()
  await setups.set(project, SETUP)
  expect(setups.get(project)).toEqual({ hash: expect.any(String), setup: SETUP })
  expect(setups.get(join(folder, 'other'))).toBeUndefined()
  const { hash } = setups.get(project) ?? {}
  await setups.set(project, { copy: ['.env'] })
  const { command: _command, ...rest } = SETUP
  const other = setups.get(project)
  expect(other?.setup).toEqual({ ...rest, copy: ['.env'], minutes: 10 })
  expect(other?.hash).not.toBe(hash)
  await setups.set(project, null)
  await setups.set(project, null)
  expect(setups.get(project)).toBeUndefined()
})

test('what is no set-up is refused with the reason, and what was kept stays', async () => {
  await setups.set(project, SETUP)
  await expect(setups.set(project, { copy: ['/etc/passwd'] })).rejects.toMatchObject({
    code: 'invalid_query',
    message: 'copy: /etc/passwd is no path below the project that can be used here.',
  })
  await expect(setups.set(project, { commands: 'x' })).rejects.toThrow('unknown key: commands')
  expect(setups.get(project)?.setup).toEqual(SETUP)
})

test('a file that others can write, that is broken or of another project is not used, and says so', async () => {
  await setups.set(project, SETUP)
  chmodSync(onlyFile(), 0o622)
  expect(setups.get(project)?.setup).toEqual({ problem: expect.stringContaining('Others can write it') })
  chmodSync(onlyFile(), 0o600)
  writeFileSync(onlyFile(), JSON.stringify({ ...SETUP, projectRoot: '/elsewhere' }))
  expect(setups.get(project)?.setup).toEqual({ problem: expect.stringContaining('another project') })
  for (const text of ['null', '{', '[]', JSON.stringify({ projectRoot: project, copy: 1 })]) {
    writeFileSync(onlyFile(), text)
    expect(setups.get(project)?.setup, text).toEqual({ problem: expect.any(String) })
  }
})

test('a data folder in the project itself keeps none: an agent could write it', async () => {
  const inside = new OwnSetups({ home: join(project, 'home') })
  expect(inside.get(project)).toBeUndefined()
  await expect(inside.set(project, SETUP)).rejects.toMatchObject({ code: 'unsafe' })
  mkdirSync(join(project, 'home/setups'), { recursive: true })
  await setups.set(project, SETUP)
  const name = readdirSync(join(folder, 'home/setups'))[0] ?? ''
  writeFileSync(join(project, 'home/setups', name), JSON.stringify({ ...SETUP, projectRoot: project }))
  expect(inside.get(project)?.setup).toEqual({ problem: expect.stringContaining('in the project itself') })
})
