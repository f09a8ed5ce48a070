import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type Envelope, TextsOnce } from '@chirality/core'
import { StorageError } from '@chirality/disk'
import { describe, expect, test } from 'vitest'
import { delta, numbered, numbersIn, range, SESSION, TURN } from '../../test/support/events.ts'
import { useProject } from '../../test/support/project.ts'
import type { EventText } from './event-text.ts'
import { openSessionLog } from './open-logs.ts'
import { RecentBatches } from './recent-batches.ts'
import type { SessionLogOptions } from './session-log.ts'

const project = useProject()
const logPath = () => project.file('events', `${SESSION}.ndjson`)
const open = (options: SessionLogOptions = {}) => openSessionLog(project.root, SESSION, options)

async function withEvents(count: number) {
  const log = await open()
  for (const n of range(1, count)) log.append(numbered(n), TURN)
  await log.flush()
  return log
}

describe('appending', () => {
  test('gives dense numbers, and one envelope a line', async () => {
    const log = await open({ now: () => new Date('2026-02-07T10:11:12.345Z') })
    expect(log.append(numbered(1), TURN)).toEqual({
      seq: 1,
      at: '2026-02-07T10:11:12.345Z',
      sessionId: SESSION,
      turnId: 'turn-1',
      event: numbered(1),
    })
    expect(log.append(numbered(2, 'ü\u2028😀\ud800"\n'), { turnId: null })?.seq).toBe(2)
    await log.close()
    const lines = readFileSync(project.file('events', `${SESSION}.ndjson`), 'utf8').split('\n')
    expect(lines).toHaveLength(3)
    const envelopes = lines.slice(0, 2).map(line => JSON.parse(line))
    expect(envelopes.map(envelope => Object.keys(envelope))).toEqual(
      Array(2).fill(['seq', 'at', 'sessionId', 'turnId', 'event']),
    )
    expect(envelopes[1].event.message).toBe('ü\u2028😀\ud800"\n')
  })

  test('goes on with the next number after the log was closed', async () => {
    await (await withEvents(3)).close()
    const log = await open()
    expect(log.lastSeq).toBe(3)
    expect(log.append(numbered(4), TURN)?.seq).toBe(4)
    await log.close()
  })

  test('makes files and folders for their owner only', async () => {
    await (await withEvents(1)).close()
    const mode = (...parts: string[]) => statSync(project.file(...parts)).mode & 0o777
    expect([mode(), mode('events')]).toEqual([0o700, 0o700])
    expect([mode('events', `${SESSION}.ndjson`), mode('events', `${SESSION}.idx`)]).toEqual([0o600, 0o600])
    expect(readFileSync(project.file('.gitignore'), 'utf8')).toBe('*\n')
  })

  test.each(['turn:start', 'permission:resolved', 'session:complete', 'session:error', 'turn:end'])(
    '%s is written before append returns',
    async type => {
      const log = await open()
      log.append({ ...numbered(1), type } as never, TURN)
      expect(readFileSync(log.path, 'utf8')).toContain(type)
      await log.close()
    },
  )

  test('other events are written together, when the loop comes round', async () => {
    const log = await open()
    log.append(numbered(1), TURN)
    log.append(numbered(2), TURN)
    expect(statSync(log.path).size).toBe(0)
    await new Promise(resolve => setImmediate(resolve))
    expect(readFileSync(log.path, 'utf8').split('\n')).toHaveLength(3)
    await log.close()
  })

  test('a loop without a pause is written in pieces', async () => {
    const log = await open()
    for (const n of range(1, 1000)) log.append(numbered(n, 'x'.repeat(1000)), TURN)
    expect(statSync(log.path).size).toBeGreaterThan(900_000)
    await log.close()
  })

  test('an event that cannot be JSON leaves a note in its place', async () => {
    let deep: unknown = 0
    for (let i = 0; i < 200_000; i += 1) deep = [deep]
    const log = await open()
    const event = {
      type: 'native:unknown',
      sessionId: SESSION,
      harness: 'codex',
      nativeType: 'x',
      raw: deep,
    } as const
    expect(log.append(event, TURN)).toMatchObject({
      seq: 1,
      event: { type: 'status', level: 'error', message: expect.stringContaining('native:unknown') },
    })
    log.append(numbered(2), TURN)
    await log.flush()
    expect(numbersIn(log.readAfter(0, 10))).toEqual([2])
    await log.close()
  })

  test('is refused when the log is closed', async () => {
    const log = await open()
    await log.close()
    expect(() => log.append(numbered(1), TURN)).toThrow(expect.objectContaining({ code: 'closed' }))
    expect(() => log.subscribe(0)).toThrow(StorageError)
  })
})

describe('one writer', () => {
  test('a second open gives the same log, and the last close closes it', async () => {
    const first = await open()
    const second = await open()
    expect(second).toBe(first)
    await first.close()
    second.append(numbered(1), TURN)
    await second.close()
    expect(() => second.append(numbered(2), TURN)).toThrow('closed')
  })

  test('opening at the same moment, and while it closes, gives a log that works', async () => {
    const [a, b] = await Promise.all([open(), open()])
    expect(a).toBe(b)
    a?.append(numbered(1), TURN)
    const closing = [a?.close(), b?.close()]
    const next = await open()
    expect(next).not.toBe(a)
    expect(next.lastSeq).toBe(1)
    await Promise.all([...closing, next.close()])
  })

  test.each(['../x', '', 'a/b', 'a'.repeat(65), 'a\0', '.'])('the id %j is refused', async id => {
    await expect(openSessionLog(project.root, id)).rejects.toMatchObject({ code: 'invalid-id' })
  })
})

describe('reading', () => {
  test('after a cursor, before one, and the last', async () => {
    const log = await withEvents(2000)
    expect(numbersIn(log.readAfter(0, 3))).toEqual([1, 2, 3])
    expect(numbersIn(log.readAfter(510, 5))).toEqual(range(511, 515))
    expect(numbersIn(log.readAfter(1998, 100))).toEqual([1999, 2000])
    expect(log.readAfter(2000, 10)).toEqual([])
    expect(numbersIn(log.readLast(1200))).toEqual(range(801, 2000))
    expect(numbersIn(log.readBefore(515, 5))).toEqual(range(510, 514))
    expect(log.readBefore(1, 5)).toEqual([])
    expect(numbersIn(log.readLast(99_999))).toEqual(range(1, 2000))
    await log.close()
  })

  test('is bounded by bytes, but always gives one', async () => {
    const log = await open()
    for (const n of range(1, 10)) log.append(numbered(n, 'x'.repeat(1000)), TURN)
    await log.flush()
    expect(numbersIn(log.readAfter(2, 10, { maxBytes: 4000 }))).toEqual([3, 4, 5])
    expect(numbersIn(log.readLast(10, { maxBytes: 4000 }))).toEqual([8, 9, 10])
    expect(numbersIn(log.readAfter(0, 10, { maxBytes: 1 }))).toEqual([1])
    expect(numbersIn(log.readLast(10, { maxBytes: 1 }))).toEqual([10])
    await log.close()
  })

  test('a line of 20 MB is read back unchanged', async () => {
    const log = await open()
    const text = 'é'.repeat(10_000_000)
    log.append(numbered(1, text), TURN)
    log.append(numbered(2), TURN)
    await log.close()
    const again = await open()
    const [large] = again.readAfter(0, 1)
    expect(large?.event.type === 'status' && large.event.message === text).toBe(true)
    expect(numbersIn(again.readLast(1))).toEqual([2])
    await again.close()
  })
})

describe('joining pieces', () => {
  const texts = (envelopes: Envelope[]) =>
    envelopes.map(({ event }) => ('text' in event ? event.text : 'delta' in event ? event.delta : event.type))

  test('pieces of one batch are joined, and the batch is published once', async () => {
    const log = await open()
    const reader = log.subscribe(0)
    const envelopes = log.appendAll([delta('a'), delta('b'), numbered(1), delta('c'), delta('d', 'm2')], TURN)
    expect(texts(envelopes)).toEqual(['ab', 'status', 'c', 'd'])
    // The event is written and published before `appendAll` returns.
    expect(log.lastSeq).toBe(4)
    expect((await reader.next()).value).toEqual(envelopes)
    expect(log.readAfter(0, 10)).toEqual(envelopes)
    await reader.return?.()
    await log.close()
  })

  test('pieces of two batches are not joined, nor those that are appended one by one', async () => {
    const log = await open()
    log.appendAll([delta('a')], TURN)
    log.appendAll([delta('b')], TURN)
    log.append(delta('c'), TURN)
    log.append(delta('d'), TURN)
    await log.flush()
    expect(texts(log.readAfter(0, 10))).toEqual(['a', 'b', 'c', 'd'])
    await log.close()
  })

  test('an event that was appended before a batch is written before it', async () => {
    const log = await open()
    log.append(numbered(1), TURN)
    log.appendAll([delta('a'), delta('b')], TURN)
    expect(texts(log.readAfter(0, 10))).toEqual(['status', 'ab'])
    await log.close()
  })
})

describe('the log as text', () => {
  test('is the JSON of its envelopes, whether it comes from the file or as it happens', async () => {
    await (await withEvents(700)).close()
    const log = await open()
    // Lines of an earlier process are parsed the first time and not the second; lines of this process never are.
    for (const round of [1, 2, 3]) {
      const reader = log.subscribeText(0)
      const seen: Envelope[] = []
      const take = async () => {
        const { from, to, text } = (await reader.next()).value
        const envelopes: Envelope[] = JSON.parse(`[${text}]`)
        expect([envelopes[0]?.seq, envelopes.at(-1)?.seq]).toEqual([from, to])
        seen.push(...envelopes)
      }
      while (seen.length < log.lastSeq) await take()
      log.append(delta('a "quoted"\nline\u2028 and \ud800 half'), TURN)
      log.append(numbered(round), TURN)
      while (seen.length < 700 + 2 * round) await take()
      expect(seen).toEqual(log.readAfter(0, 1000))
      expect(seen.map(({ seq }) => seq)).toEqual(range(1, 700 + 2 * round))
      await reader.return?.()
    }
    await log.close()
  })

  test('sends a text once to a reader that puts it back, and whole to one that missed its beginning', async () => {
    const log = await open()
    log.append(numbered(1), TURN)
    await log.flush()
    const read = async (reader: AsyncIterableIterator<EventText>, upTo: number) => {
      const texts = new TextsOnce()
      const seen: Envelope[] = []
      let chars = 0
      while ((seen.at(-1)?.seq ?? 0) < upTo) {
        const { text } = (await reader.next()).value
        chars += text.length
        const envelopes: Envelope[] = JSON.parse(`[${text}]`)
        seen.push(...envelopes.map(envelope => texts.restored(envelope)))
      }
      await reader.return?.()
      return { seen, chars }
    }
    const early = log.subscribeText(1, { textOnce: true })
    const plain = log.subscribeText(1)
    const pieces = range(1, 200).map(n => `${n} `.padEnd(1000, 'word '))
    for (const piece of pieces.slice(0, 100)) log.appendAll([delta(piece)], TURN)
    const late = log.subscribeText(log.lastSeq, { textOnce: true })
    const lateAfter = log.lastSeq
    for (const piece of pieces.slice(100)) log.appendAll([delta(piece)], TURN)
    const text = pieces.join('')
    const { sessionId } = log
    log.appendAll(
      [
        { type: 'chat:message', sessionId, messageId: 'm1', text },
        { type: 'chat:complete', sessionId, text },
      ],
      TURN,
    )
    const all = log.readAfter(1, 1000)
    const once = await read(early, log.lastSeq)
    expect(once.seen).toEqual(all)
    expect(once.chars).toBeLessThan(1.4 * text.length)
    const whole = await read(plain, log.lastSeq)
    expect(whole.seen).toEqual(all)
    expect(whole.chars).toBeGreaterThan(3 * text.length)
    expect((await read(late, log.lastSeq)).seen).toEqual(log.readAfter(lateAfter, 1000))
    await log.close()
  })

  test('never holds a line that is no JSON, though its checksum is right', async () => {
    await (await withEvents(5)).close()
    const lines = readFileSync(logPath(), 'utf8').split('\n')
    lines[2] = lines[2]?.replace('"event":', '"event"') ?? ''
    writeFileSync(logPath(), lines.join('\n'))
    // Without its sidecar the log is numbered again, with the checksums of its current content.
    rmSync(logPath().replace('.ndjson', '.idx'))
    const log = await open()
    for (const _ of [1, 2]) {
      const reader = log.subscribeText(0)
      const { text } = (await reader.next()).value
      const envelopes: Envelope[] = JSON.parse(`[${text}]`)
      expect(envelopes).toEqual(log.readAfter(0, 10))
      expect(envelopes.map(({ event }) => event.type)).toContain('log:gap')
      await reader.return?.()
    }
    await log.close()
  })
})

describe('subscribing', () => {
  test('replays, then goes live', async () => {
    const log = await withEvents(5)
    const seen: number[] = []
    const reader = log.subscribe(2)
    const reading = (async () => {
      for await (const batch of reader) seen.push(...batch.map(({ seq }) => seq))
    })()
    log.append(numbered(6), TURN)
    await log.flush()
    log.append(numbered(7), TURN)
    await log.close()
    await reading
    expect(seen).toEqual(range(3, 7))
  })

  test('batches held for readers are released when the last reader leaves', async () => {
    const log = await withEvents(1)
    const readers = [log.subscribe(1), log.subscribe(1)]
    const next = readers.map(reader => reader.next())
    log.append(numbered(2), TURN)
    await Promise.all(next)
    expect(RecentBatches.heldChars).toBeGreaterThan(0)
    await readers[0]?.return?.()
    expect(RecentBatches.heldChars).toBeGreaterThan(0)
    await readers[1]?.return?.()
    expect(RecentBatches.heldChars).toBe(0)
    await log.close()
  })

  test('a reader that is slow gets everything, also after the log was closed', async () => {
    const log = await open()
    const slow = log.subscribe(0)
    const first = slow.next()
    for (const n of range(1, 3000)) log.append(numbered(n, 'x'.repeat(1000)), TURN)
    await log.close()
    const seen = numbersIn((await first).value ?? [])
    for await (const batch of slow) seen.push(...numbersIn(batch))
    expect(seen).toEqual(range(1, 3000))
    const again = await open()
    await again.close()
  })

  test('a reader that leaves while it waits is let go', async () => {
    const log = await open()
    const reader = log.subscribe(0)
    const waiting = reader.next()
    await reader.return?.()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(await reader.next()).toEqual({ done: true, value: undefined })
    await log.close()
  })

  test('several calls of next at once are answered in order', async () => {
    const log = await open()
    const reader = log.subscribe(0)
    const calls = [reader.next(), reader.next()]
    log.append(numbered(1), { ...TURN, durable: true })
    log.append(numbered(2), { ...TURN, durable: true })
    const results = await Promise.all(calls)
    expect(results.map(({ value }) => numbersIn(value))).toEqual([[1], [2]])
    await log.close()
  })

  test('a cursor from the future is refused', async () => {
    const log = await withEvents(2)
    expect(() => log.subscribe(3)).toThrow(expect.objectContaining({ code: 'cursor-ahead' }))
    await log.close()
  })
})
