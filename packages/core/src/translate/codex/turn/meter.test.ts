import { describe, expect, test } from 'vitest'
import {
  appTurnCompleted,
  appTurnStarted,
  counts,
  only,
  threadStarted,
  tokenUsage,
  translateApp,
  translateExec,
  turnCompleted,
  turnFailed,
} from '../../../../test/support/codex-lines.ts'
import { readCounts } from './meter.ts'

const total = (input: number, output: number) =>
  turnCompleted({
    input_tokens: input,
    output_tokens: output,
    cached_input_tokens: 0,
    cache_write_input_tokens: 0,
  })

function used(events: ReturnType<typeof translateApp>['events']) {
  return [...only(events, 'session:complete'), ...only(events, 'session:error')].map(event => [
    event.usage?.input_tokens,
    event.usage?.output_tokens,
  ])
}

describe('C41: every token is counted once', () => {
  test.each([
    { input_tokens: 100, cached_input_tokens: 60, cache_write_input_tokens: 10, output_tokens: 5 },
    { inputTokens: 100, cachedInputTokens: 60, cacheWriteInputTokens: 10, outputTokens: 5 },
  ])('C41: %j', value => {
    expect(readCounts(value)).toStrictEqual({
      input_tokens: 30,
      output_tokens: 5,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 10,
    })
  })

  test.each([
    undefined,
    null,
    7,
    {},
    { input_tokens: -1, output_tokens: 'x' },
    { input_tokens: Number.POSITIVE_INFINITY },
  ])('nothing can be made of %j', value => {
    expect(readCounts(value)).toMatchObject({ input_tokens: 0, output_tokens: 0 })
  })
})

describe('exec, which counts on over the whole thread', () => {
  test('C40: what came before this process is taken off', () => {
    const first = translateExec([threadStarted(), total(100, 25)])
    expect(used(first.events)).toStrictEqual([[100, 25]])
    const second = translateExec([threadStarted(), total(210, 30)], { usageBefore: first.usageTotal })
    expect(used(second.events)).toStrictEqual([[110, 5]])
    expect(second.usageTotal).toMatchObject({ input_tokens: 210, output_tokens: 30 })
  })

  test('C40: so are earlier turns of the same output', () => {
    const { events } = translateExec([threadStarted(), total(100, 25), threadStarted(), total(210, 30)])
    expect(used(events)).toStrictEqual([
      [100, 25],
      [110, 5],
    ])
  })

  test('C40: what a failed turn used shows up with the next one', () => {
    const failed = translateExec([threadStarted(), turnFailed('x')], {
      usageBefore: readCounts({ input_tokens: 100, output_tokens: 25 }),
    })
    expect(used(failed.events)).toStrictEqual([[0, 0]])
    const next = translateExec([threadStarted(), total(300, 60)], { usageBefore: failed.usageTotal })
    expect(used(next.events)).toStrictEqual([[200, 35]])
  })

  test('C40: after the context window overflowed the thread counts from zero again', () => {
    const overflow = "Codex ran out of room in the model's context window."
    const failed = translateExec([threadStarted(), turnFailed(overflow)], {
      usageBefore: readCounts({ input_tokens: 100, output_tokens: 25 }),
    })
    const next = translateExec([threadStarted(), total(170, 40)], { usageBefore: failed.usageTotal })
    expect(used(next.events)).toStrictEqual([[170, 40]])
    const refused = translateExec(
      [threadStarted(), turnFailed('{"error":{"message":"too long","code":"context_length_exceeded"}}')],
      { usageBefore: readCounts({ input_tokens: 100 }) },
    )
    expect(refused.usageTotal.input_tokens).toBe(100)
  })

  test('C40: a smaller total is that of another thread', () => {
    const { events } = translateExec([threadStarted(), total(40, 5)], {
      usageBefore: readCounts({ input_tokens: 100, output_tokens: 25 }),
    })
    expect(used(events)).toStrictEqual([[40, 5]])
  })

  test('C40: an empty total is ignored', () => {
    const before = readCounts({ input_tokens: 100, output_tokens: 25 })
    const { events, usageTotal } = translateExec([threadStarted(), total(0, 0)], { usageBefore: before })
    expect(used(events)).toStrictEqual([[0, 0]])
    expect(usageTotal).toStrictEqual(before)
  })

  test('C42: has no count of single answers', () => {
    expect(only(translateExec([threadStarted(), total(100, 25)]).events, 'usage')).toStrictEqual([])
  })
})

describe('app-server, which counts both', () => {
  test('C40, C42: a turn is the difference of totals, an answer what is said of the last', () => {
    const { events, usageTotal } = translateApp([
      appTurnStarted(),
      tokenUsage(counts(100, 20), counts(100, 20)),
      tokenUsage(counts(210, 45), counts(110, 25)),
      appTurnCompleted(),
      appTurnStarted('turn-2'),
      tokenUsage(counts(330, 50), counts(120, 5)),
      appTurnCompleted(),
    ])
    expect(used(events)).toStrictEqual([
      [210, 45],
      [120, 5],
    ])
    expect(only(events, 'usage').map(event => event.usage.input_tokens)).toStrictEqual([100, 110, 120])
    expect(usageTotal).toMatchObject({ input_tokens: 330, output_tokens: 50 })
  })

  test('C40: the total that a resumed thread begins with is not of the turn, nor an answer', () => {
    const { events } = translateApp([
      tokenUsage(counts(100, 20), counts(100, 20)),
      appTurnStarted(),
      tokenUsage(counts(210, 45), counts(110, 25)),
      appTurnCompleted(),
    ])
    expect(used(events)).toStrictEqual([[110, 25]])
    expect(only(events, 'usage')).toHaveLength(1)
  })

  test('C40: nor is it where a resumed thread does not say it', () => {
    const { events } = translateApp([
      appTurnStarted(),
      tokenUsage(counts(210, 45), counts(110, 25)),
      appTurnCompleted(),
    ])
    expect(used(events)).toStrictEqual([[110, 25]])
  })

  test('C40: a thread that counts from zero again loses nothing', () => {
    const { events } = translateApp([
      appTurnStarted(),
      tokenUsage(counts(200, 50), counts(200, 50)),
      appTurnCompleted({
        status: 'failed',
        error: { message: 'x', codexErrorInfo: 'contextWindowExceeded' },
      }),
      tokenUsage(counts(0, 0), counts(0, 0)),
      appTurnStarted('turn-2'),
      tokenUsage(counts(0, 0), counts(0, 0)),
      tokenUsage(counts(100, 25), counts(100, 25)),
      tokenUsage(counts(200, 50), counts(100, 25)),
      appTurnCompleted(),
    ])
    expect(only(events, 'session:complete')).toMatchObject([
      { usage: { input_tokens: 200, output_tokens: 50 } },
    ])
    expect(only(events, 'usage')).toHaveLength(3)
  })

  test('C42: a count that is repeated is no second answer', () => {
    const again = tokenUsage(counts(100, 20), counts(100, 20))
    const { events } = translateApp([appTurnStarted(), again, again, appTurnCompleted()])
    expect(only(events, 'usage')).toHaveLength(1)
    expect(used(events)).toStrictEqual([[100, 20]])
  })

  test('C40: a turn that failed used what it used', () => {
    const { events } = translateApp([
      appTurnStarted(),
      tokenUsage(counts(100, 20), counts(100, 20)),
      appTurnCompleted({ status: 'interrupted' }),
    ])
    expect(used(events)).toStrictEqual([[100, 20]])
  })
})
