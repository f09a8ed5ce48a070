import { readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import type { Envelope, UIEvent } from '@chirality/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SESSION, TURN } from '../../test/support/events.ts'
import { useProject } from '../../test/support/project.ts'
import { encodeLine } from './envelope-line.ts'
import { openSessionLog } from './open-logs.ts'
import { readSessionLog } from './read-log.ts'

const project = useProject()
const logPath = () => project.file('events', `${SESSION}.ndjson`)
const open = () => openSessionLog(project.root, SESSION)
const sessionId = SESSION

const start: UIEvent = { type: 'turn:start', sessionId, message: 'go' }
const piece = (text: string, messageId = 'm1'): UIEvent => ({
  type: 'chat:delta',
  sessionId,
  messageId,
  text,
})
const message = (text: string, messageId = 'm1'): UIEvent => ({
  type: 'chat:message',
  sessionId,
  messageId,
  text,
})
const complete = (text: string): UIEvent => ({ type: 'chat:complete', sessionId, text })

const PIECES = Array.from({ length: 40 }, (_, n) => `${n} `.padEnd(500, 'wörd '))
const TEXT = PIECES.join('')
/** Each piece is a batch, as in a stream that goes on for a while. */
const ANSWER: UIEvent[][] = [[start], ...PIECES.map(text => [piece(text)]), [message(TEXT)], [complete(TEXT)]]
const MESSAGE_SEQ = PIECES.length + 2

async function write(batches: UIEvent[][]): Promise<Envelope[]> {
  const log = await open()
  const written = batches.flatMap(batch => log.appendAll(batch, TURN))
  await log.close()
  return written
}

async function readAll(): Promise<Envelope[]> {
  const log = await readSessionLog(project.root, SESSION)
  const all = log?.readAfter(0, 10_000, { maxBytes: 1e9 }) ?? []
  log?.close()
  return all
}

const linesOf = () => readFileSync(logPath(), 'utf8').trimEnd().split('\n')
/** Without its sidecar the log is read with the checksums of its current content. */
function rewrite(lines: readonly string[]): void {
  writeFileSync(logPath(), `${lines.join('\n')}\n`)
  rmSync(logPath().replace('.ndjson', '.idx'), { force: true })
}

/** No event may have another text than the one that was appended under its number. */
function expectNothingWrong(found: readonly Envelope[], written: readonly Envelope[]): void {
  for (const { seq, event } of found) {
    if (event.type !== 'chat:message' && event.type !== 'chat:complete') continue
    expect(event).toEqual(written.find(envelope => envelope.seq === seq)?.event)
  }
}

describe('an answer of 20 KB', () => {
  test('is in the file once, and whole for every reader', async () => {
    const written = await write(ANSWER)
    const answerBytes = Buffer.byteLength(TEXT)
    const inFull = written.map(envelope => encodeLine(envelope)).join('')
    expect(Buffer.byteLength(inFull) / answerBytes).toBeGreaterThan(3.2)
    expect(statSync(logPath()).size / answerBytes).toBeLessThan(1.4)
    expect(await readAll()).toEqual(written)
    expect(JSON.stringify(await readAll())).toBe(JSON.stringify(written))
    const log = await open()
    // A page that begins between the pieces and the message, and one that has nothing but the end.
    for (const from of [3, MESSAGE_SEQ - 3, MESSAGE_SEQ - 1, MESSAGE_SEQ]) {
      expect(log.readAfter(from, 100)).toEqual(written.slice(from))
      expect(log.readLast(written.length - from)).toEqual(written.slice(from))
      for (const _ of ['parsed', 'known']) {
        const reader = log.subscribeText(from)
        const { text } = (await reader.next()).value
        expect(JSON.parse(`[${text}]`)).toEqual(written.slice(from))
        await reader.return?.()
      }
    }
    await log.close()
  })

  test('counts in full for the limit of a page', async () => {
    const written = await write(ANSWER)
    const log = await open()
    const whole = Buffer.byteLength(encodeLine(written[MESSAGE_SEQ - 1] as Envelope))
    const page = log.readAfter(MESSAGE_SEQ - 2, 10, { maxBytes: whole + 1000 })
    expect(page.map(({ seq }) => seq)).toEqual([MESSAGE_SEQ - 1, MESSAGE_SEQ])
    expect(log.readLast(10, { maxBytes: 100 }).map(({ seq }) => seq)).toEqual([MESSAGE_SEQ + 1])
    expect(log.readLast(3, { maxBytes: whole })).toHaveLength(1)
    expect(log.readLast(3, { maxBytes: 3 * whole })).toHaveLength(3)
    await log.close()
  })

  test('that came as one message is in the file once', async () => {
    const written = await write([[start], [message(TEXT)], [complete(TEXT)]])
    expect(statSync(logPath()).size / Buffer.byteLength(TEXT)).toBeLessThan(1.1)
    expect(await readAll()).toEqual(written)
  })
})

describe('the text is written in full', () => {
  test('if the log was opened again in the middle of the message', async () => {
    const written = await write(ANSWER.slice(0, 20))
    const rest = await write(ANSWER.slice(20))
    expect(await readAll()).toEqual([...written, ...rest])
    expect(linesOf()[MESSAGE_SEQ - 1]?.length).toBeGreaterThan(TEXT.length)
    // The end of the turn repeats that message, which is in the file.
    expect(linesOf()[MESSAGE_SEQ]?.length).toBeLessThan(1000)
  })

  test('if the log was cut by another program while it was open', async () => {
    const log = await open()
    for (const batch of ANSWER.slice(0, 30)) log.appendAll(batch, TURN)
    await log.flush()
    truncateSync(logPath(), 2000)
    for (const batch of ANSWER.slice(30)) {
      await log.whenWritable()
      log.appendAll(batch, TURN)
    }
    await log.close()
    const found = await readAll()
    expect(found.filter(({ event }) => event.type === 'chat:message')).toMatchObject([
      { event: { text: TEXT } },
    ])
    expect(found.filter(({ event }) => event.type === 'chat:complete')).toMatchObject([
      { event: { text: TEXT } },
    ])
  })

  test('if the log was cut between the message and the write of a batch that refers to it', async () => {
    const log = await open()
    for (const batch of ANSWER.slice(0, -2)) log.appendAll(batch, TURN)
    await log.flush()
    truncateSync(logPath(), 2000)
    // One batch: encoded before the cut is noticed.
    log.appendAll([message(TEXT), complete(TEXT)], TURN)
    await log.close()
    const texts = (await readAll()).flatMap(({ event }) =>
      event.type === 'chat:message' ? [event.text] : [],
    )
    expect(texts).toEqual([TEXT])
  })

  test('if it is short, differs from its pieces or belongs to another message', async () => {
    const events = [
      ...[start, piece('short'), message('short'), complete('short')],
      ...[piece(TEXT, 'a'), message(`${TEXT}.`, 'a'), piece(TEXT, 'b'), message(TEXT, 'c')],
    ]
    const written = await write(events.map(event => [event]))
    for (const [n, line] of linesOf().entries()) {
      expect(line.length).toBeGreaterThan(JSON.stringify(events[n]).length)
    }
    expect(await readAll()).toEqual(written)
  })

  test('in a log of an earlier version', async () => {
    const written = await write(ANSWER)
    rewrite(written.map(envelope => encodeLine(envelope).trimEnd()))
    expect(await readAll()).toEqual(written)
    const log = await open()
    expect(log.readLast(2)).toEqual(written.slice(-2))
    await log.close()
  })
})

describe('a damaged log', () => {
  test.each([
    ['lost a piece', (lines: string[]) => lines.toSpliced(20, 1)],
    ['has a changed piece', (lines: string[]) => lines.with(20, lines[20]?.replace('wörd', 'swap') ?? '')],
    ['has a torn piece', (lines: string[]) => lines.with(20, lines[20]?.slice(0, 300) ?? '')],
    [
      'has two pieces in the wrong order',
      (lines: string[]) =>
        lines
          .with(20, lines[21]?.replace('"seq":22', '"seq":21') ?? '')
          .with(21, lines[20]?.replace('"seq":21', '"seq":22') ?? ''),
    ],
    [
      'has another length in its reference',
      (lines: string[]) =>
        lines.map(line => line.replace(`"chars":${TEXT.length}`, `"chars":${TEXT.length - 500}`)),
    ],
  ])('that %s shows its other pieces and a gap, never another text', async (_, injure) => {
    const written = await write(ANSWER)
    rewrite(injure(linesOf()))
    const found = await readAll()
    expectNothingWrong(found, written)
    expect(found.filter(({ event }) => event.type === 'chat:message')).toEqual([])
    const gaps = found.flatMap(({ event }) => (event.type === 'log:gap' ? [event.reason] : []))
    expect(gaps.at(-1)).toContain('The text of this message is in the events 2 to 41')
    expect(found.filter(({ event }) => event.type === 'chat:delta').length).toBeGreaterThan(37)
    // The log goes on, and what follows is whole.
    const more = await write([[start], [piece(TEXT, 'm2')], [message(TEXT, 'm2')], [complete(TEXT)]])
    expect((await readAll()).slice(-4)).toEqual(more)
  })

  test('that was cut anywhere goes on without a wrong text', { timeout: 120_000 }, async () => {
    const written = await write(ANSWER)
    const bytes = readFileSync(logPath())
    const ends = [...bytes.keys()].filter(at => bytes[at] === 0x0a)
    for (const end of ends.slice(-8)) {
      for (const cut of [end - 40, end, end + 1, end + 60]) {
        writeFileSync(logPath(), bytes.subarray(0, cut))
        expectNothingWrong(await readAll(), written)
        const again = await write([[message(TEXT)], [complete(TEXT)]])
        expect((await readAll()).slice(-2)).toEqual(again)
      }
    }
  })

  test('whose references were made up is read, and shows none of them as a text', async () => {
    await write(ANSWER)
    const refs = [
      ...[
        {},
        null,
        'x',
        { from: -1 },
        { from: 1e15, to: 1e15 },
        { from: 5, to: 4 },
        { to: 1e9 },
        { chars: 1e12 },
      ],
      ...[{ messageId: 'other' }, { messageId: 5 }, { hash: '' }, { from: MESSAGE_SEQ, to: MESSAGE_SEQ }],
    ]
    for (const [n, ref] of refs.entries()) {
      const lines = linesOf()
      const { event, ...envelope } = JSON.parse(lines[MESSAGE_SEQ - 1] ?? '')
      const textOf = typeof ref === 'object' && ref && n > 0 ? { ...event.textOf, ...ref } : ref
      rewrite(lines.with(MESSAGE_SEQ - 1, JSON.stringify({ ...envelope, event: { ...event, textOf } })))
      const found = (await readAll())[MESSAGE_SEQ - 1]?.event.type
      expect(['log:gap', 'native:unknown'], JSON.stringify(ref)).toContain(found)
      rewrite(lines)
    }
    const lines = linesOf()
    const { event, ...envelope } = JSON.parse(lines[MESSAGE_SEQ - 1] ?? '')
    rewrite(lines.with(MESSAGE_SEQ - 1, JSON.stringify({ ...envelope, event: { ...event, text: 'mine' } })))
    expect((await readAll())[MESSAGE_SEQ - 1]?.event).toEqual(message('mine'))
  })
})

test('any events come back as they were, whatever page is read and wherever the log was closed', {
  timeout: 120_000,
}, async () => {
  const id = fc.constantFrom('a', 'b')
  const unit = fc.constantFrom('x'.repeat(150), `é"\\${'y'.repeat(80)}\ud83d`, `\ude00${'z'.repeat(90)}`)
  const text = fc.array(unit, { maxLength: 4 }).map(units => units.join(''))
  const repeated = fc
    .tuple(id, fc.array(unit, { minLength: 1, maxLength: 4 }))
    .map(([messageId, units]) => [
      ...units.map(part => piece(part, messageId)),
      message(units.join(''), messageId),
      complete(units.join('')),
    ])
  const single = fc.oneof(
    fc.tuple(id, text).map(([messageId, value]) => piece(value, messageId)),
    fc.tuple(id, text).map(([messageId, value]) => message(value, messageId)),
    text.map(complete),
    fc.constant(start),
  )
  const batch = fc.oneof(repeated, fc.array(single, { minLength: 1, maxLength: 4 }))
  const logs = fc.array(fc.tuple(batch, fc.boolean()), { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(logs, fc.nat({ max: 20 }), async (batches, from) => {
      rmSync(project.file('events'), { recursive: true, force: true })
      const written: Envelope[] = []
      let log = await open()
      for (const [events, closes] of batches) {
        // One by one, so that no pieces are joined.
        for (const event of events) written.push(...log.appendAll([event], TURN))
        if (!closes) continue
        await log.close()
        log = await open()
      }
      expect(log.readAfter(from, 100)).toEqual(written.slice(from))
      expect(log.readLast(from)).toEqual(from === 0 ? [] : written.slice(-from))
      await log.close()
    }),
    { seed: 11, numRuns: 150 },
  )
})
