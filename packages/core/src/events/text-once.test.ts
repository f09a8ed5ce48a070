import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TextsOnce } from './text-once.ts'
import type { Envelope, UIEvent } from './ui-event.ts'

const sessionId = 's'
const log = (events: UIEvent[]): Envelope[] =>
  events.map((event, i) => ({ seq: i + 1, at: '2026-01-01T00:00:00.000Z', sessionId, turnId: 't', event }))
const start: UIEvent = { type: 'turn:start', sessionId, message: 'go' }
const piece = (messageId: string, text: string): UIEvent => ({
  type: 'chat:delta',
  sessionId,
  messageId,
  text,
})
const whole = (messageId: string, text: string): UIEvent => ({
  type: 'chat:message',
  sessionId,
  messageId,
  text,
})
const complete = (text: string): UIEvent => ({ type: 'chat:complete', sessionId, text })

function sent(envelopes: Envelope[]): Envelope[] {
  const texts = new TextsOnce()
  return envelopes.map(envelope => texts.once(envelope) ?? envelope)
}

function received(envelopes: Envelope[]): Envelope[] {
  const texts = new TextsOnce()
  return envelopes.map(envelope => texts.restored(envelope))
}

test('a text that came in pieces is sent once, and the receiver has it three times', () => {
  const events = log([start, piece('m', 'Hel'), piece('m', 'lo'), whole('m', 'Hello'), complete('Hello')])
  const onWire = sent(events)
  expect(onWire[3]?.event).toMatchObject({ text: '', textOf: { messageId: 'm', from: 2, chars: 5 } })
  expect(onWire[4]?.event).toMatchObject({ text: '', textOf: { messageId: 'm', from: 2, chars: 5 } })
  expect(JSON.stringify(onWire)).not.toContain('Hello')
  expect(received(onWire)).toEqual(events)
})

test('a message that did not come in pieces is sent, and the end of the turn names it', () => {
  const events = log([start, whole('m', 'Hello'), complete('Hello')])
  const onWire = sent(events)
  expect(onWire[1]).toBe(events[1])
  expect(onWire[2]?.event).toMatchObject({ text: '', textOf: { from: 2 } })
  expect(received(onWire)).toEqual(events)
})

test('a text that differs from its pieces is sent as it is', () => {
  const events = log([start, piece('m', 'Hel'), whole('m', 'Help'), complete('Something else')])
  expect(sent(events)).toEqual(events)
})

test('the receiver restores exactly the events of the log', () => {
  const id = fc.constantFrom('a', 'b')
  const text = fc.constantFrom('', 'x', 'y', 'xy', 'yx', 'xyx')
  const event = fc.oneof(
    fc.tuple(id, text).map(([messageId, value]) => piece(messageId, value)),
    fc.tuple(id, text).map(([messageId, value]) => whole(messageId, value)),
    text.map(complete),
    fc.constant(start),
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 12 }), events => {
      const envelopes = log(events)
      expect(received(sent(envelopes))).toEqual(envelopes)
    }),
    { seed: 7, numRuns: 2000 },
  )
})
