import { appendFileSync, closeSync, openSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextLoopTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { useProject } from '../../test/support/project.ts'
import { Tail } from './tail.ts'
import { Wake } from './wake.ts'

const project = useProject()
const buffer = Buffer.alloc(8)

let path = ''
let fd = -1
let wake = new Wake()
let tail: Tail | undefined

beforeEach(() => {
  path = join(project.root, 'file')
  writeFileSync(path, '')
  fd = openSync(path, 'r')
  wake = new Wake()
})

afterEach(() => {
  tail?.close()
  closeSync(fd)
})

function start(options: { watch?: boolean; watched?: string } = {}): Tail {
  tail = new Tail({
    fd,
    path: options.watched ?? path,
    onWake: () => wake.notify(),
    watch: options.watch,
  })
  return tail
}

/** Reads until as many bytes came, waiting for the tail to say so. Called before the write, it has to wait. */
async function readBytes(reader: Tail, count: number): Promise<string> {
  let text = ''
  while (text.length < count) {
    const bytes = reader.read(buffer)
    if (bytes === 0) await wake.wait()
    text += buffer.toString('latin1', 0, bytes)
  }
  return text
}

describe('what is appended', () => {
  test.each([
    { how: 'a watcher', options: { watch: true } },
    { how: 'the poll alone', options: { watch: false } },
    { how: 'the poll, when nothing can be watched', options: { watched: '/nowhere/at/all' } },
  ])('is announced by $how', async ({ options }) => {
    const reader = start(options)
    for (let n = 0; n < 5; n += 1) {
      const reading = readBytes(reader, 7)
      appendFileSync(path, `line ${n}\n`)
      expect(await reading).toBe(`line ${n}\n`)
    }
  })

  test('is announced by the poll when the watcher says nothing', async () => {
    const silent = join(project.root, 'never-written')
    writeFileSync(silent, '')
    const reader = start({ watched: silent })
    for (let n = 0; n < 5; n += 1) {
      const reading = readBytes(reader, 7)
      appendFileSync(path, `line ${n}\n`)
      expect(await reading).toBe(`line ${n}\n`)
    }
  })

  test('is polled for quickly once the watcher has missed it', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const silent = join(project.root, 'never-written')
      writeFileSync(silent, '')
      let wakes = 0
      tail = new Tail({ fd, path: silent, onWake: () => (wakes += 1) })
      appendFileSync(path, 'one')
      vi.advanceTimersByTime(249)
      expect(wakes).toBe(0)
      vi.advanceTimersByTime(1)
      expect(wakes).toBe(1)
      tail.read(buffer)
      appendFileSync(path, 'two')
      vi.advanceTimersByTime(10)
      expect(wakes).toBe(2)
    } finally {
      vi.useRealTimers()
    }
  })

  test('is looked for in a pulse while there is always more, and announced at once again when there is not', async () => {
    // The clock stands still, so every change comes soon after the one before.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    try {
      let wakes = 0
      tail = new Tail({ fd, path, onWake: () => (wakes += 1) })
      const timers = vi.getTimerCount()
      const isPulsing = () => vi.getTimerCount() > timers
      while (!isPulsing()) {
        const before = wakes
        appendFileSync(path, '.')
        while (wakes === before) await nextLoopTurn()
      }
      appendFileSync(path, '.')
      const before = wakes
      vi.advanceTimersByTime(16)
      expect(wakes).toBe(before + 1)
      while (tail.read(buffer) > 0);
      // Nothing new for a while: it is watched again, with a last look for what came in between.
      while (isPulsing()) vi.advanceTimersByTime(16)
      const last = wakes
      appendFileSync(path, '.')
      while (wakes === last) await nextLoopTurn()
      expect(tail.read(buffer)).toBe(1)
    } finally {
      vi.useRealTimers()
    }
  })

  test('comes in pieces of the buffer', () => {
    const reader = start()
    appendFileSync(path, 'twelve bytes')
    expect([reader.read(buffer), reader.read(buffer), reader.read(buffer)]).toEqual([8, 4, 0])
  })

  test('can still be read after close', () => {
    const reader = start()
    reader.close()
    appendFileSync(path, 'late')
    expect(reader.read(buffer)).toBe(4)
  })
})

describe('damage', () => {
  test('a deletion is reported once, and the content is still there', async () => {
    const reader = start()
    appendFileSync(path, 'content')
    rmSync(path)
    expect([reader.inspect(), reader.inspect()]).toEqual(['deleted', undefined])
    expect(await readBytes(reader, 7)).toBe('content')
  })

  test('a cut is reported once, and reading starts over', async () => {
    const reader = start()
    appendFileSync(path, 'content')
    await readBytes(reader, 7)
    truncateSync(path)
    expect([reader.inspect(), reader.inspect()]).toEqual(['truncated', undefined])
    appendFileSync(path, 'more')
    expect(await readBytes(reader, 4)).toBe('more')
  })

  test.each([true, false])('a deletion wakes, watching: %s', async watch => {
    const reader = start({ watch })
    const woken = wake.wait()
    rmSync(path)
    await woken
    while (reader.inspect() === undefined) await wake.wait()
  })

  test('a moved file is still the same file', async () => {
    const reader = start()
    renameSync(path, `${path}.moved`)
    const reading = readBytes(reader, 7)
    appendFileSync(`${path}.moved`, 'content')
    expect(await reading).toBe('content')
    expect(reader.inspect()).toBeUndefined()
  })
})
