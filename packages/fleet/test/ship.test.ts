import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { SavedText } from '../src/engine/saved-text.ts'
import { inWindow } from '../src/in-window.ts'
import { LogBytes } from '../src/ship/log-bytes.ts'
import { bytesOf, logPath } from '../src/ship/shipper.ts'

const folder = mkdtempSync(join(tmpdir(), 'chirality-ship-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('the bytes of a log end with a whole line, and a longer line comes in parts', () => {
  const file = join(folder, 'log.ndjson')
  const log = new LogBytes(file)
  const next = (from: number, checksum: number) => {
    const part = log.next(from, checksum)
    if (part === 'replaced') throw new Error('It was not.')
    return part
  }
  expect(next(0, 0)).toBeUndefined()
  writeFileSync(file, '{"a":1}\n{"b":2}\n{"half')
  const first = next(0, 0)
  expect(first?.bytes.toString()).toBe('{"a":1}\n{"b":2}\n')
  expect(next(16, first?.checksum ?? 0)).toBeUndefined()
  appendFileSync(file, `${'x'.repeat(600_000)}"}\nend\n`)
  const parts: Buffer[] = []
  let checksum = first?.checksum ?? 0
  for (let part = next(16, checksum); part !== undefined; ) {
    expect(part.bytes.length).toBeLessThanOrEqual(256 * 1024)
    parts.push(part.bytes)
    checksum = part.checksum
    const to = part.from + part.bytes.length
    expect(part.hasMore).toBe(to < statSync(file).size)
    part = next(to, checksum)
  }
  expect(Buffer.concat(parts).toString()).toBe(readFileSync(file, 'utf8').slice(16))
  const size = statSync(file).size
  expect([log.next(16, 1), log.next(size + 1, checksum)]).toEqual(['replaced', 'replaced'])
  writeFileSync(file, readFileSync(file, 'utf8').replace('end', 'END'))
  expect(log.next(size, checksum)).toBe('replaced')
  rmSync(file)
  expect([log.next(0, 0), log.next(size, checksum)]).toEqual([undefined, 'replaced'])
})

test('a link, a pipe and a folder in the place of a log are refused, and their bytes are given to nobody', async () => {
  const secret = join(folder, 'secret')
  writeFileSync(secret, 'private\n')
  const root = join(folder, 'hostile')
  mkdirSync(join(root, '.chirality', 'events'), { recursive: true })
  symlinkSync(secret, logPath(root, 'link'))
  symlinkSync('loop.ndjson', logPath(root, 'loop'))
  execFileSync('mkfifo', [logPath(root, 'pipe')])
  mkdirSync(logPath(root, 'folder'))
  for (const name of ['link', 'loop', 'pipe', 'folder']) {
    const log = new LogBytes(logPath(root, name))
    expect(() => log.next(0, 0), name).toThrow(/Remove it/)
    expect(log.exists, name).toBe(false)
    expect((await bytesOf([root], name, 0)).length, name).toBe(0)
  }
  const outside = join(folder, 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'a.ndjson'), 'private\n')
  const linked = join(folder, 'linked')
  mkdirSync(join(linked, '.chirality'), { recursive: true })
  symlinkSync(outside, join(linked, '.chirality', 'events'))
  expect((await bytesOf([linked], 'a', 0)).length).toBe(0)
  // The same session in a project that has a real one.
  writeFileSync(logPath(root, 'a'), 'mine\n')
  expect((await bytesOf([linked, root], 'a', 0)).toString()).toBe('mine\n')
})

test('a file that is saved while it is saved has the last text, and nobody is told of a failure', async () => {
  const file = join(folder, 'saved', 'number')
  let number = 0
  const saved = new SavedText(file, () => String(number))
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      number += 1
      await saved.save()
    }),
  )
  expect(readFileSync(file, 'utf8')).toBe('50')
})

test('work in a window is done so many at once, and nothing is begun after a failure', async () => {
  let [running, most] = [0, 0]
  const done: number[] = []
  const work = async (item: number) => {
    running += 1
    most = Math.max(most, running)
    await new Promise(resolve => setImmediate(resolve))
    running -= 1
    if (item === 7) throw new Error('seven')
    done.push(item)
  }
  await inWindow([1, 2, 3, 4, 5], 2, work)
  expect({ most, done }).toEqual({ most: 2, done: [1, 2, 3, 4, 5] })
  await expect(inWindow([6, 7, 8, 9, 10], 2, work)).rejects.toThrow('seven')
  // 8 was begun with 7.
  expect(done).toEqual([1, 2, 3, 4, 5, 6, 8])
})
