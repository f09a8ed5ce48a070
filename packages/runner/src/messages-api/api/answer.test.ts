import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AnswerBuilder } from './answer.ts'
import type { ApiEvent, ContentBlock } from './messages.ts'

describe('an answer', () => {
  test('is put together out of its pieces', () => {
    const builder = build([
      {
        type: 'message_start',
        message: { id: 'm1', model: 'x', usage: { input_tokens: 7, output_tokens: 1 } },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'He' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'llo' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 't', name: 'n', input: {} },
      },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a"' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: ':1}' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
      { type: 'message_stop' },
    ])
    expect(builder.isStopped).toBe(true)
    expect(builder.answer()).toMatchObject({
      id: 'm1',
      stopReason: 'tool_use',
      usage: { input_tokens: 7, output_tokens: 9 },
      content: [
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', id: 't', name: 'n', input: { a: 1 } },
      ],
    })
  })

  test.each<[string, Record<string, unknown>, ContentBlock]>([
    [
      'without an id',
      { type: 'tool_use', name: 'n' },
      { type: 'other', raw: { type: 'tool_use', name: 'n' } },
    ],
    ['of an unknown type', { type: 'new', x: 1 }, { type: 'other', raw: { type: 'new', x: 1 } }],
  ])('keeps a block %s as it came', (_what, block, expected) => {
    const builder = build([
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_stop', index: 0 },
    ])
    expect(builder.answer().content).toEqual([expected])
  })

  test('that is longer than any string is refused in plain words, and not asked for again', () => {
    const text = 'x'.repeat(8 * 1024 * 1024)
    const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }
    const builder = build([
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ])
    for (let piece = 0; piece < 8; piece += 1) builder.add(delta)
    expect(() => builder.add(delta)).toThrow(
      expect.objectContaining({ message: expect.stringContaining('64 million'), isPassing: false }),
    )
  })

  test('survives events of any shape', () => {
    const type = fc.constantFrom(
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
      'from_the_future',
    )
    const part = fc.oneof(
      fc.jsonValue(),
      fc.record({ type: fc.constantFrom('text', 'thinking', 'tool_use', 'x') }),
    )
    const event = fc.record(
      {
        type,
        index: fc.oneof(fc.integer({ min: -2, max: 3 }), fc.jsonValue()),
        message: part,
        content_block: part,
        delta: part,
        usage: part,
      },
      { requiredKeys: ['type'] },
    )
    fc.assert(
      fc.property(fc.array(event), events => {
        const builder = build(events)
        expect(Array.isArray(builder.answer().content)).toBe(true)
        expect(Array.isArray(builder.saidSoFar())).toBe(true)
        expect(Number.isFinite(builder.usage.input_tokens)).toBe(true)
      }),
    )
  })
})

function build(events: ApiEvent[]): AnswerBuilder {
  const builder = new AnswerBuilder()
  for (const event of events) builder.add(event)
  return builder
}
