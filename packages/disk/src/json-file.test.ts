import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createFileNow, writeFileAtomic, writeFileNow } from './atomic-write.ts'
import { JsonFile } from './json-file.ts'

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'chirality-disk-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function listIn(folder: string) {
  return new JsonFile<string[]>(join(folder, 'list.json'), {
    parse: content => {
      if (!Array.isArray(content)) throw new TypeError('no list')
      return content.map(String)
    },
    initial: () => [],
    maxBytes: 1000,
  })
}

test('changes of many callers are all kept, and one that changes nothing writes nothing', async () => {
  const folder = newFolder()
  const list = listIn(folder)
  const names = Array.from({ length: 20 }, (_, at) => `n${at}`)
  await Promise.all(names.map(name => listIn(folder).change(known => [...known, name])))
  expect((await list.read()).sort()).toEqual(names.sort())
  const { ino } = statSync(list.path)
  await list.change(known => known)
  expect(statSync(list.path).ino).toBe(ino)
  await expect(
    list.change(() => {
      throw new RangeError('not this one')
    }),
  ).rejects.toThrow(RangeError)
  expect(readdirSync(folder)).toEqual(['list.json'])
})

test.each(['{', '{"a":1}', 'x'.repeat(10)])('a damaged file (%s) is renamed, and begun anew', async text => {
  const folder = newFolder()
  writeFileSync(join(folder, 'list.json'), text, { mode: 0o600 })
  expect(await listIn(folder).change(known => [...known, 'a'])).toEqual(['a'])
  const [aside = '', ...others] = readdirSync(folder).filter(name => name !== 'list.json')
  expect(others).toEqual([])
  expect(readFileSync(join(folder, aside), 'utf8')).toBe(text)
})

test('a folder in the place of the file is renamed, and a file that is too large is an error', async () => {
  const folder = newFolder()
  const list = listIn(folder)
  mkdirSync(list.path)
  expect(await list.read()).toEqual([])
  expect(readdirSync(folder)).toEqual([expect.stringMatching(/^list\.json\.corrupt-/)])
  writeFileSync(list.path, JSON.stringify(['x'.repeat(1000)]))
  await expect(list.read()).rejects.toMatchObject({ code: 'io' })
})

test('a file is made once, and written with the mode that was asked for', async () => {
  const file = join(newFolder(), 'file')
  expect(createFileNow(file, 'first')).toBe(true)
  expect(createFileNow(file, 'second')).toBe(false)
  expect(readFileSync(file, 'utf8')).toBe('first')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  writeFileNow(file, 'now', { mode: 0o640, survives: 'kill' })
  expect(statSync(file).mode & 0o777).toBe(0o640)
  await writeFileAtomic(file, 'umask', { mode: 'umask' })
  expect(statSync(file).mode & 0o777).toBe(0o666 & ~process.umask())
})

test('what is refused before its place leaves the old file and nothing else', async () => {
  const folder = newFolder()
  const file = join(folder, 'file')
  writeFileNow(file, 'old')
  const check = () => {
    throw new RangeError('changed meanwhile')
  }
  await expect(writeFileAtomic(file, 'new', { check })).rejects.toThrow(RangeError)
  expect(() => writeFileNow(file, 'new', { check })).toThrow(RangeError)
  const inside = join(folder, 'other')
  mkdirSync(inside)
  await expect(writeFileAtomic(file, 'new', { inside })).rejects.toMatchObject({ code: 'unsafe' })
  await expect(writeFileAtomic(join(folder, 'none', 'file'), 'new')).rejects.toMatchObject({
    name: 'StorageError',
  })
  expect(readdirSync(folder).sort()).toEqual(['file', 'other'])
  expect(readFileSync(file, 'utf8')).toBe('old')
})
