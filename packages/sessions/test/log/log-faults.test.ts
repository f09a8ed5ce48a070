import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import type { Envelope } from '@chirality/core'
import { realFileOps, StorageError } from '@chirality/disk'
import { describe, expect, test } from 'vitest'
import type { LogHealth } from '../../src/log/file/log-writer.ts'
import { openSessionLog } from '../../src/log/open-logs.ts'
import type { SessionLog } from '../../src/log/session-log.ts'
import { numbered, numbersIn, range, SESSION, TURN } from '../support/events.ts'
import { FAULTS, type FaultKind, type FaultSpan, FaultyOps } from '../support/faulty-ops.ts'
import { useProject } from '../support/project.ts'

const project = useProject()
const events = (...parts: string[]) => project.file('events', ...parts)

async function readAll(): Promise<Envelope[]> {
  const log = await openSessionLog(project.root, SESSION)
  const envelopes = log.readAfter(0, 9999)
  await log.close()
  return envelopes
}

describe.each(FAULTS)('%s', kind => {
  test.each(['once', 'lasting'] as const)(
    'at every file operation, %s: nothing is lost, nothing comes twice',
    { timeout: 300_000 },
    async span => {
      let k = 1
      while (await survives(kind, span, k)) k += 1
      // Fewer would mean that the work did not touch the disk.
      expect(k).toBeGreaterThan(40)
    },
  )
})

test.each(['EIO', 'ENOSPC'] as const)(
  '%s at every operation while a deleted log is written again',
  { timeout: 300_000 },
  async kind => {
    const deleteAll = () => rmSync(project.file(), { recursive: true, force: true })
    for (const span of ['once', 'lasting'] as const) {
      let k = 1
      while (await survives(kind, span, k, deleteAll)) k += 1
      expect(k).toBeGreaterThan(60)
    }
  },
)

/** False when the work took fewer than k operations. */
async function survives(kind: FaultKind, span: FaultSpan, k: number, disturb?: () => void): Promise<boolean> {
  rmSync(project.file(), { recursive: true, force: true })
  const faulty = new FaultyOps(kind, k, span)
  const options = { ops: faulty.ops, retryDelayMs: 1, syncDelayMs: 1 }
  const seen: Envelope[] = []
  for (const part of [range(1, 6), range(7, 12)]) {
    const log = await openInSpite(faulty, options)
    log.onHealth(() => faulty.clear())
    const reading = followInSpite(log, seen)
    for (const n of part) {
      await appendInSpite(log, n)
      if (n === 3) disturb?.()
      if (n % 4 === 0) await log.flush().catch(expectLogError)
    }
    await log.whenWritable()
    await log.flush().catch(expectLogError)
    await log.whenWritable()
    await log.close()
    await reading
  }
  const kept = await readAll()
  const context = { kind, span, k }
  expect({ ...context, numbers: numbersIn(kept) }).toEqual({ ...context, numbers: range(1, 12) })
  expect(kept.map(({ seq }) => seq)).toEqual(range(1, kept.length))
  // What a reader was shown is what is there.
  expect(kept).toEqual(expect.arrayContaining(seen))
  // Litter may stay only where removing it failed, too.
  if (span === 'once') expect(readdirSync(events()).filter(name => name.includes('tmp'))).toEqual([])
  return faulty.wasReached
}

async function openInSpite(faulty: FaultyOps, options: object): Promise<SessionLog> {
  try {
    return await openSessionLog(project.root, SESSION, options)
  } catch (error) {
    expectLogError(error)
    faulty.clear()
    return openSessionLog(project.root, SESSION, options)
  }
}

async function appendInSpite(log: SessionLog, n: number): Promise<void> {
  for (;;) {
    await log.whenWritable()
    try {
      log.append(numbered(n), { ...TURN, durable: n % 3 === 0 })
      return
    } catch (error) {
      expectLogError(error)
    }
  }
}

/** A reader that cannot read comes back with its cursor. */
async function followInSpite(log: SessionLog, seen: Envelope[]): Promise<void> {
  try {
    await follow(log.subscribe(seen.at(-1)?.seq ?? 0), seen)
  } catch (error) {
    expectLogError(error)
    await followInSpite(log, seen)
  }
}

async function follow(reader: AsyncIterable<Envelope[]>, seen: Envelope[]): Promise<void> {
  for await (const batch of reader) seen.push(...batch.filter(({ seq }) => seq > (seen.at(-1)?.seq ?? 0)))
}

function expectLogError(error: unknown): void {
  expect(error).toBeInstanceOf(StorageError)
}

describe('a full disk', () => {
  test('is told once, takes no more, and goes on by itself when there is space', async () => {
    let full = false
    const write = (fd: number, bytes: Uint8Array) => {
      if (!full) return realFileOps.write(fd, bytes)
      realFileOps.write(fd, bytes.subarray(0, 10))
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
    }
    const log = await openSessionLog(project.root, SESSION, {
      ops: { ...realFileOps, write },
      retryDelayMs: 1,
    })
    const told: LogHealth[] = []
    log.onHealth(health => told.push(health))
    log.append(numbered(1), TURN)
    await log.flush()
    full = true
    log.append(numbered(2), { ...TURN, durable: true })
    expect(told).toMatchObject([{ state: 'paused', error: { code: 'no-space' } }])
    expect(() => log.append(numbered(3), TURN)).toThrow(StorageError)
    await expect(log.flush()).rejects.toMatchObject({ code: 'no-space' })
    expect(readFileSync(log.path, 'utf8').split('\n')).toHaveLength(2)
    expect(log.lastSeq).toBe(1)
    full = false
    await log.whenWritable()
    log.append(numbered(3), TURN)
    await log.close()
    expect(told.map(({ state }) => state)).toEqual(['paused', 'ok'])
    expect(await readAll()).toMatchObject([
      { event: { data: { n: 1 } } },
      { event: { data: { n: 2 } } },
      { event: { type: 'status', data: { kind: 'log_resumed' } } },
      { event: { data: { n: 3 } } },
    ])
  })

  test('closing a log that is paused says how much is lost', async () => {
    let full = false
    const write = (fd: number, bytes: Uint8Array) => {
      if (full) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
      return realFileOps.write(fd, bytes)
    }
    const log = await openSessionLog(project.root, SESSION, { ops: { ...realFileOps, write } })
    full = true
    log.append(numbered(1), TURN)
    await expect(log.close()).rejects.toThrow('1 events could not be written')
    expect(await readAll()).toEqual([])
  })
})

describe('a sync that fails', () => {
  test('is not believed again: the log is written to a new file', async () => {
    let failing = false
    const syncData = async (fd: number) => {
      if (failing) throw Object.assign(new Error('EIO'), { code: 'EIO' })
      await realFileOps.syncData(fd)
    }
    const log = await openSessionLog(project.root, SESSION, { ops: { ...realFileOps, syncData } })
    log.append(numbered(1), TURN)
    await log.flush()
    const before = realFileOps.lstat(log.path)?.ino
    failing = true
    log.append(numbered(2), { ...TURN, durable: true })
    const flushed = log.flush()
    await flushed
    expect(realFileOps.lstat(log.path)?.ino).not.toBe(before)
    failing = false
    await log.close()
    expect((await readAll()).map(({ event }) => (event.type === 'status' ? event.data : event))).toEqual([
      { n: 1 },
      { n: 2 },
      { kind: 'log_rewritten' },
    ])
  })
})

describe('changes of the files by another program', () => {
  async function logOf(count: number): Promise<SessionLog> {
    const log = await openSessionLog(project.root, SESSION)
    for (const n of range(1, count)) log.append(numbered(n), TURN)
    await log.flush()
    return log
  }

  const kinds = (envelopes: Envelope[]) =>
    envelopes.flatMap(({ event }) =>
      event.type === 'status' && event.data?.kind !== undefined ? [event.data.kind] : [],
    )

  test.each([
    ['deleted with git clean -fdx', () => rmSync(project.file(), { recursive: true })],
    ['deleted alone', () => rmSync(events(`${SESSION}.ndjson`))],
    ['moved away', () => renameSync(project.file(), `${project.root}/elsewhere`)],
    [
      'replaced by an older copy',
      () => replace(readFileSync(events(`${SESSION}.ndjson`), 'utf8').slice(0, 500)),
    ],
    ['replaced by a folder', () => replace(undefined)],
  ])('a log that is %s is written again, and says so', async (_, disturb) => {
    const log = await logOf(50)
    const seen: Envelope[] = []
    const reading = follow(log.subscribe(0), seen)
    disturb()
    for (const n of range(51, 60)) {
      log.append(numbered(n), TURN)
      await new Promise(resolve => setImmediate(resolve))
    }
    await log.close()
    await reading
    const kept = await readAll()
    expect(numbersIn(kept)).toEqual(range(1, 60))
    expect(kinds(kept)).toEqual(['log_recreated'])
    expect(seen).toEqual(kept)
  })

  function replace(text: string | undefined): void {
    const path = events(`${SESSION}.ndjson`)
    rmSync(path)
    if (text === undefined) mkdirSync(path)
    else writeFileSync(path, text)
  }

  test('a file that took its place is kept', async () => {
    const log = await logOf(3)
    replace('mine\n')
    log.append(numbered(4), TURN)
    await log.close()
    expect(readFileSync(events(`${SESSION}.ndjson.replaced-1`), 'utf8')).toBe('mine\n')
  })

  test('a log that was emptied goes on, and the gap is shown', async () => {
    const log = await logOf(50)
    truncateSync(log.path, 1000)
    log.append(numbered(51), TURN)
    await log.flush()
    log.append(numbered(52), TURN)
    await log.close()
    const kept = await readAll()
    expect(numbersIn(kept)).toEqual([1, 2, 3, 4, 5, 51, 52])
    expect(kept.find(({ event }) => event.type === 'log:gap')).toMatchObject({
      seq: 50,
      event: { afterSeq: 5, missing: 45 },
    })
    expect(kinds(kept)).toEqual(['log_changed'])
  })

  test('lines that another program appended do not count', async () => {
    const log = await logOf(5)
    appendFileSync(
      log.path,
      `rubbish\n{"seq":6,"at":"","sessionId":"${SESSION}","turnId":null,"event":{"type":"x"}}\n`,
    )
    log.append(numbered(6), TURN)
    await log.close()
    const kept = await readAll()
    expect(numbersIn(kept)).toEqual(range(1, 6))
    expect(kinds(kept)).toEqual(['log_changed'])
  })

  test.each(['', 'events'])(
    'a symlink at .chirality/%s is refused, and nothing is written there',
    async part => {
      const target = `${project.root}/target`
      mkdirSync(target)
      if (part !== '') mkdirSync(project.file())
      symlinkSync(target, project.file(part))
      await expect(openSessionLog(project.root, SESSION)).rejects.toMatchObject({
        code: 'unsafe',
        name: 'StorageError',
      })
      expect(readdirSync(target)).toEqual([])
    },
  )

  test('a symlink in the place of the log is refused, and its target left alone', async () => {
    const log = await logOf(1)
    await log.close()
    const target = `${project.root}/target`
    writeFileSync(target, 'untouched')
    rmSync(log.path)
    symlinkSync(target, log.path)
    await expect(openSessionLog(project.root, SESSION)).rejects.toMatchObject({ code: 'unsafe' })
    expect(readFileSync(target, 'utf8')).toBe('untouched')
  })
})
