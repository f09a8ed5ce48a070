import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { useProject } from '../../test/support/project.ts'
import { FileCache } from './file-cache.ts'

const project = useProject()
const KIB = 1024

/** Reads through the cache and counts how often a file was really read. */
function reader(cache = new FileCache()) {
  const reads: string[] = []
  const read = (relativePath: string, kind = 'text', maxBytes = 64 * KIB) =>
    cache.read({
      realRoot: project.root,
      relativePath,
      kind,
      maxBytes,
      parse: (head, size) => {
        reads.push(relativePath)
        if (head.includes(0)) throw new Error('binary')
        return `${Buffer.from(head).toString()}/${size}`
      },
    })
  return { read, reads }
}

test('a file that does not change is read once', async () => {
  project.write({ 'a.txt': 'one' })
  project.age('a.txt')
  const { read, reads } = reader()
  expect([await read('a.txt'), await read('a.txt'), await read('a.txt')]).toEqual(['one/3', 'one/3', 'one/3'])
  expect(reads).toEqual(['a.txt'])
})

test('a file that was changed a moment ago is read again: the next change could leave the same time stamp', async () => {
  project.write({ 'a.txt': 'one' })
  const { read, reads } = reader()
  await read('a.txt')
  await read('a.txt')
  expect(reads).toHaveLength(2)
  for (let i = 0; i < 50; i++) {
    writeFileSync(project.path('a.txt'), `v${i}`.padEnd(3))
    expect(await read('a.txt')).toBe(`${`v${i}`.padEnd(3)}/3`)
  }
})

describe('is read again', () => {
  test('when its content changed but neither its size nor its time', async () => {
    project.write({ 'a.txt': 'one' })
    project.age('a.txt')
    const { read } = reader()
    await read('a.txt')
    project.write({ 'a.txt': 'two' })
    project.age('a.txt')
    expect(await read('a.txt')).toBe('two/3')
  })

  test('when another file replaced it', async () => {
    project.write({ 'a.txt': 'one', 'b.txt': 'two' })
    project.age('a.txt')
    project.age('b.txt')
    project.link('c.txt', 'a.txt')
    project.link('d.txt', 'b.txt')
    const { read } = reader()
    expect([await read('c.txt'), await read('d.txt')]).toEqual(['one/3', 'two/3'])
    renameSync(project.path('d.txt'), project.path('c.txt'))
    expect(await read('c.txt')).toBe('two/3')
  })

  test('when it was deleted and created again', async () => {
    project.write({ 'a.txt': 'one' })
    project.age('a.txt')
    const { read } = reader()
    await read('a.txt')
    rmSync(project.path('a.txt'))
    expect(await read('a.txt')).toBeNull()
    project.write({ 'a.txt': 'new' })
    expect(await read('a.txt')).toBe('new/3')
  })

  test('by each kind of reader for itself', async () => {
    project.write({ 'a.txt': 'one' })
    project.age('a.txt')
    const { read, reads } = reader()
    expect([await read('a.txt', 'head', 2), await read('a.txt', 'text')]).toEqual(['on/3', 'one/3'])
    expect(reads).toHaveLength(2)
  })

  test('after a failure', async () => {
    project.write({ 'a.txt': 'a\0b' })
    project.age('a.txt')
    const { read, reads } = reader()
    await expect(read('a.txt')).rejects.toThrow('binary')
    await expect(read('a.txt')).rejects.toThrow('binary')
    expect(reads).toHaveLength(2)
  })
})

test('what is kept is bounded: the file that was not used for longest goes first', async () => {
  for (const name of ['a', 'b', 'c']) {
    project.write({ [name]: name.repeat(10 * KIB) })
    project.age(name)
  }
  const { read, reads } = reader(new FileCache(25 * KIB))
  await read('a')
  await read('b')
  await read('a')
  await read('c')
  await read('a')
  await read('c')
  expect(reads).toEqual(['a', 'b', 'c'])
  await read('b')
  expect(reads).toEqual(['a', 'b', 'c', 'b'])
})

test('a file larger than the whole cache is read, and not kept', async () => {
  project.write({ a: 'a'.repeat(30 * KIB) })
  project.age('a')
  const { read, reads } = reader(new FileCache(25 * KIB))
  await read('a')
  expect((await read('a'))?.length).toBeGreaterThan(30 * KIB)
  expect(reads).toHaveLength(2)
})
