import { describe, expect, test } from 'vitest'
import { callTool } from './call-tool.ts'
import type { PreparedTool } from './prepare-tools.ts'

const LIMITS = { deadlineMs: 600_000, maxResultBytes: 4096 }

function call(handler: PreparedTool['handler'], limits: Partial<Parameters<typeof callTool>[2]> = {}) {
  const tool = { name: 'echo', handler, complaint: () => undefined }
  const signal = new AbortController().signal
  return callTool(tool, { text: 'hi' }, { ...LIMITS, signal, ...limits })
}

const failed = (text: string) => ({ content: [{ type: 'text', text }], isError: true })

test('the handler gets the input and a signal that rests', async () => {
  const result = await call(async (args, { signal }) => ({ content: `${args.text} ${signal.aborted}` }))
  expect(result).toEqual({ content: [{ type: 'text', text: 'hi false' }] })
})

test('an input that does not fit never reaches the handler', async () => {
  const tool = {
    name: 'echo',
    handler: () => expect.unreachable(),
    complaint: () => `data/text ${'x'.repeat(9999)}`,
  }
  const result = await callTool(tool, {}, { ...LIMITS, signal: new AbortController().signal })
  expect(result.isError).toBe(true)
  expect(result.content).toMatchObject([
    { text: expect.stringMatching(/^The input of echo does not fit its schema: data\/text x{1990}$/) },
  ])
})

describe('a handler that throws is a failed call:', () => {
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  test.each<[string, unknown, string]>([
    ['an Error', new Error('no such file'), 'no such file'],
    ['an Error without words', new TypeError(''), 'TypeError'],
    ['a string', 'plain', 'plain'],
    ['undefined', undefined, 'undefined'],
    ['a symbol', Symbol('odd'), 'Symbol(odd)'],
    ['an object without a prototype', Object.create(null), 'The tool threw something that has no message.'],
    ['a revoked proxy', revoked.proxy, 'The tool threw something that has no message.'],
  ])('%s', async (_what, thrown, text) => {
    const handlers: PreparedTool['handler'][] = [
      () => {
        throw thrown
      },
      () => Promise.reject(thrown),
    ]
    for (const handler of handlers) expect(await call(handler)).toEqual(failed(text))
  })
})

test('a result that throws when it is looked at is a failed call', async () => {
  const trap = {
    get content(): string {
      throw new Error('trap')
    },
  }
  expect(await call(async () => trap)).toEqual(failed('trap'))
})

describe('a handler that hangs', () => {
  test('is told to stop at the deadline, and the agent is answered', async () => {
    let reason: unknown
    const result = await call(
      (_args, { signal }) =>
        new Promise(() => {
          signal.addEventListener('abort', () => {
            reason = signal.reason
          })
        }),
      { deadlineMs: 1 },
    )
    expect(result).toEqual(failed('echo did not answer within 0.001 s and was told to stop.'))
    expect(reason).toMatchObject({ name: 'TimeoutError' })
  })

  test.each<[string, () => Promise<object>]>([
    ['answers', async () => ({ content: 'late' })],
    ['throws', () => Promise.reject(new Error('late'))],
  ])('and %s after all is not listened to', async (_what, settle) => {
    let end = (_settled: Promise<object>): void => {}
    const late = new Promise<object>(resolve => {
      end = resolve
    })
    const result = await call(() => late, { deadlineMs: 1 })
    end(settle())
    await late.catch(() => {})
    expect(result).toEqual(failed('echo did not answer within 0.001 s and was told to stop.'))
  })

  test('is told to stop when nobody waits any more', async () => {
    const client = new AbortController()
    const result = call(
      (_args, { signal }) => {
        client.abort()
        return new Promise(resolve => {
          if (!signal.aborted) resolve({ content: 'unaware' })
        })
      },
      { signal: client.signal },
    )
    expect(await result).toEqual(failed('echo was cancelled.'))
  })
})

test('a call that was cancelled before it began is not run', async () => {
  expect(await call(() => expect.unreachable(), { signal: AbortSignal.abort() })).toEqual(
    failed('echo was cancelled.'),
  )
})
