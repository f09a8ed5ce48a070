import { createTranslator, NdjsonFramer, type UIEvent } from '@chirality/core'
import { type FixtureCase, fixtureCases, readStdout } from '@chirality/fixtures'
import { expect, test } from 'vitest'
import { alignTurn } from './counterpart.logic.ts'
import { type EventItem, eventItem, type LineItem, lineItem } from './raw-item.ts'

interface Run {
  lines: LineItem[]
  events: EventItem[]
  /** The line that each event really came from; undefined for ours. */
  truth: (LineItem | undefined)[]
}

/** A captured run as its session has it: streamed text is joined, some events are left out, and some of ours lie between. */
function runOf({ harness, folder, voice }: FixtureCase): Run {
  const framer = new NdjsonFramer()
  const translator = createTranslator(harness, { sessionId: 's' })
  const lines: LineItem[] = []
  const logged: { event: UIEvent; line: LineItem | undefined }[] = []
  const ours = (event: UIEvent) => logged.push({ event, line: undefined })
  ours({ type: 'turn:start', sessionId: 's', message: 'Go' })
  for (const record of [...framer.push(readStdout({ folder })), ...framer.end()]) {
    const text = record.kind === 'json' ? JSON.stringify(record.value) : 'no JSON'
    const place = { offset: record.offset, bytes: record.bytes, spool: 'a.ndjson', harness, turnId: 't' }
    const line = lineItem({ id: `a.${record.offset}`, ...place, text, cut: false, torn: false })
    lines.push(line)
    for (const event of translator?.translateRecord(record) ?? []) {
      const last = logged.at(-1)
      const joined = last && join(last.event, event)
      if (joined) last.event = joined
      else if (event.type === 'session:init' && voice === 'app-server') ours(event)
      else if (event.type !== 'usage') logged.push({ event: ofTurn(event, voice), line })
      if (event.type === 'permission:request')
        ours({ ...event, type: 'permission:resolved', outcome: 'allowed', by: 'person' })
      if (logged.length % 7 === 0)
        ours({ type: 'budget', sessionId: 's', scope: 'turn', spentUsd: 1, limitUsd: 1, exceeded: false })
    }
  }
  const at = '2026-01-01T00:00:00.000Z'
  return {
    lines,
    events: logged.map(({ event }, i) => eventItem({ seq: i + 1, at, sessionId: 's', turnId: 't', event })),
    truth: logged.map(({ line }) => line),
  }
}

/** `codex exec` counts its items anew in each turn. A session puts its turn before them, a bare translator the thread. */
function ofTurn(event: UIEvent, voice: FixtureCase['voice']): UIEvent {
  if (voice !== 'exec') return event
  const text = JSON.stringify(event).replaceAll(
    /"[0-9a-f-]{36}:item_/g,
    '"11111111-2222-4333-8444-555555555555:item_',
  )
  return JSON.parse(text) as UIEvent
}

function join(a: UIEvent, b: UIEvent): UIEvent | undefined {
  if (a.type === 'chat:delta' && b.type === 'chat:delta' && a.messageId === b.messageId)
    return a.text.length < 12 ? { ...a, text: a.text + b.text } : undefined
  return undefined
}

test('every event of every captured run finds the line that it came from', () => {
  let count = 0
  for (const fixture of fixtureCases()) {
    // Megabytes in a line, which nobody gets here: it would be cut.
    if (fixture.name === 'huge-line') continue
    const { events, lines, truth } = runOf(fixture)
    const found = alignTurn(events, lines)
    const wrong = events.filter((item, i) => found.get(item) !== truth[i])
    expect(
      wrong.map(({ text }) => text),
      fixture.folder,
    ).toEqual([])
    count += found.size
  }
  expect(count).toBeGreaterThan(1000)
})

const native = (offset: number, value: unknown) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return lineItem({
    ...{ id: `a.${offset}`, turnId: 't', harness: 'claude-code', spool: 'a.ndjson', offset },
    ...{ bytes: text.length, text, cut: false, torn: false },
  })
}

const ours = (seq: number, event: UIEvent) =>
  eventItem({ seq, at: '2026-01-01T00:00:00.000Z', sessionId: 's', turnId: 't', event })

const piece = (text: string) => ({
  type: 'stream_event',
  event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
})

test('a text that the log has in two parts, of one line', () => {
  const start = {
    type: 'stream_event',
    event: { type: 'message_start', message: { id: 'm', role: 'assistant' } },
  }
  const block = {
    type: 'stream_event',
    event: { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  }
  const lines = [native(0, start), native(1, block), native(2, piece('abcd')), native(3, piece('ef'))]
  const translator = createTranslator('claude-code', { sessionId: 's' })
  const messageId = lines
    .flatMap(({ value }) => translator?.translateRecord({ kind: 'json', value, bytes: 1, offset: 0 }) ?? [])
    .flatMap(event => (event.type === 'chat:delta' ? [event.messageId] : []))[0]
  const events = ['ab', 'cde', 'f', 'x'].map((text, i) =>
    ours(i + 1, { type: 'chat:delta', sessionId: 's', text, ...(messageId ? { messageId } : {}) }),
  )
  const found = alignTurn(events, lines)
  expect(events.map(item => found.get(item)?.line.offset)).toEqual([2, 2, 3, undefined])
})

test('a line that is no JSON is found, half a line is not, and an unknown agent has no lines that can be told', () => {
  const unknown = ours(1, {
    type: 'native:unknown',
    sessionId: 's',
    harness: 'x',
    nativeType: 'malformed',
    raw: 'oops',
  })
  expect(alignTurn([unknown], [native(0, 'oops')]).get(unknown)?.key).toBe('a.0')
  const half = native(0, 'oops')
  expect(alignTurn([unknown], [{ ...half, line: { ...half.line, torn: true } }]).size).toBe(0)
  expect(alignTurn([unknown], [{ ...half, line: { ...half.line, harness: 'new' } }]).size).toBe(0)
})
