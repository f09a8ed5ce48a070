import { appendFileSync, closeSync, openSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextLoopTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { useProject } from '../../../test/support/project.ts'
import { Wake } from '../../common/wake.ts'
import { Tail } from './tail.ts'

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

interface Growing {
  write(): void
  /** Writes, and waits until the tail reports the change. */
  announced(): Promise<void>
  wakes(): number
  drain(): void
  close(): void
}

function openGrowing(file: string): Growing {
  writeFileSync(file, '')
  const descriptor = openSync(file, 'r')
  let wakes = 0
  const reader = new Tail({ fd: descriptor, path: file, onWake: () => (wakes += 1) })
  const write = () => appendFileSync(file, '.')
  let isOpen = true
  return {
    write,
    announced: async () => {
      const before = wakes
      write()
      while (wakes === before) await nextLoopTurn()
    },
    wakes: () => wakes,
    drain: () => {
      while (reader.read(buffer) > 0);
    },
    close: () => {
      reader.close()
      if (isOpen) closeSync(descriptor)
      isOpen = false
    },
  }
}

/** Reads that many bytes, waiting for the tail's wake-ups. Called before the write, so it has to wait. */
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

  test('of a few files that always grow is announced at once, of many looked for in a pulse, until they rest', async () => {
    // The clock does not advance, so every change comes soon after the one before.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const files = [...Array(5).keys()].map(n => openGrowing(join(project.root, `file ${n}`)))
    try {
      const timers = vi.getTimerCount()
      const isPulsing = () => vi.getTimerCount() > timers
      for (const file of files.slice(0, 4)) for (let n = 0; n < 10; n += 1) await file.announced()
      expect(isPulsing()).toBe(false)

      const last = files[4] as Growing
      while (!isPulsing()) await last.announced()
      last.write()
      const before = last.wakes()
      vi.advanceTimersByTime(16)
      expect(last.wakes()).toBe(before + 1)
      // The other files notice it with their next change.
      for (const file of files.slice(0, 4)) await file.announced()
      for (const file of files) file.drain()

      // After some beats without new data the files are watched again, with a last read for data from in between.
      while (isPulsing()) vi.advanceTimersByTime(16)
      for (const file of files) await file.announced()
      expect(isPulsing()).toBe(false)
    } finally {
      for (const file of files) file.close()
      vi.useRealTimers()
    }
  })

  test('of a few is announced at once again when the others of many are closed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const files = [...Array(6).keys()].map(n => openGrowing(join(project.root, `file ${n}`)))
    try {
      const timers = vi.getTimerCount() / files.length
      const isPulsing = (open: number) => vi.getTimerCount() > timers * open
      for (const file of files) for (let n = 0; n < 10 && !isPulsing(6); n += 1) await file.announced()
      for (const file of files.slice(0, 4)) await file.announced()
      expect(isPulsing(6)).toBe(true)
      for (const file of files.slice(2)) file.close()
      vi.advanceTimersByTime(100)
      expect(isPulsing(2)).toBe(false)
      for (const file of files.slice(0, 2)) for (let n = 0; n < 10; n += 1) await file.announced()
      expect(isPulsing(2)).toBe(false)
    } finally {
      for (const file of files) file.close()
      vi.useRealTimers()
    }
  })

  test("is read in pieces of the buffer's size", () => {
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
