import { setImmediate as nextLoopTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  call,
  deferred,
  ECHO,
  fired,
  INITIALIZE,
  notification,
  rpc,
  send,
  tool,
  useToolServer,
} from './support.ts'

const servers = useToolServer()

test('the SDK client lists the tools as they were given, and calls them', async () => {
  const handle = await servers.start([
    ECHO,
    tool('noop', async () => ({})),
    tool('fail', async () => ({ error: 'no' })),
  ])
  const client = await servers.connect(handle)
  const { tools } = await client.listTools()
  expect(tools).toMatchObject([
    { name: 'echo', description: ECHO.description, inputSchema: ECHO.inputSchema },
    { name: 'noop' },
    { name: 'fail' },
  ])
  expect(await call(client, 'echo', { text: 'hé 😀' })).toEqual({ text: 'echo: hé 😀', isError: false })
  expect(await call(client, 'noop')).toEqual({ text: 'noop returned nothing.', isError: false })
  expect(await call(client, 'fail')).toEqual({ text: 'no', isError: true })
})

test('a call that is wrong is answered, and the handler is not run', async () => {
  const calls: unknown[] = []
  const handler = async (args: unknown) => {
    calls.push(args)
    return {}
  }
  const client = await servers.connect(await servers.start([{ ...ECHO, handler }]))
  expect(await call(client, 'other')).toEqual({ text: 'There is no tool "other".', isError: true })
  expect(await call(client, 'toString')).toEqual({ text: 'There is no tool "toString".', isError: true })
  expect(await call(client, 'echo', { text: 7 })).toEqual({
    text: 'The input of echo does not fit its schema: data/text must be string',
    isError: true,
  })
  expect(await call(client, 'echo')).toMatchObject({ text: expect.stringContaining("'text'"), isError: true })
  expect(calls).toEqual([])
})

test('half a million mistakes in one input are told in a few words', async () => {
  const inputSchema = { type: 'object', properties: { list: { type: 'array', items: { type: 'string' } } } }
  const client = await servers.connect(await servers.start([{ ...ECHO, inputSchema }]))
  const { text, isError } = await call(client, 'echo', { list: new Array(400_000).fill(1) })
  expect(isError).toBe(true)
  expect(text).toMatch(/^The input of echo does not fit its schema: data\/list\/0 must be string/)
  expect(text.length).toBeLessThan(3_000)
})

test('whatever a handler throws or returns, the next call works', async () => {
  const cycle: { content?: unknown } = {}
  cycle.content = cycle
  const client = await servers.connect(
    await servers.start([
      ECHO,
      tool('throws', () => {
        throw new Error('at once')
      }),
      tool('rejects', () => Promise.reject('a string')),
      tool('cyclic', async () => cycle as object),
      tool('surrogate', async () => ({ content: '\ud800' })),
    ]),
  )
  expect(await call(client, 'throws')).toEqual({ text: 'at once', isError: true })
  expect(await call(client, 'rejects')).toEqual({ text: 'a string', isError: true })
  expect(await call(client, 'cyclic')).toMatchObject({ isError: true })
  expect(await call(client, 'surrogate')).toEqual({ text: '\ufffd', isError: false })
  expect(await call(client, 'echo', { text: 'still here' })).toMatchObject({ text: 'echo: still here' })
})

test('100 MB are cut, with a note', async () => {
  const size = 100 * 1024 * 1024
  const client = await servers.connect(
    await servers.start([tool('big', async () => ({ content: 'x'.repeat(size) }))]),
  )
  const { text, isError } = await call(client, 'big')
  expect(isError).toBe(false)
  expect(text).toHaveLength(
    1024 * 1024 + '\n[The rest was cut: only the first 1048576 of 104857600 characters fit.]'.length,
  )
})

test('a handler that hangs ends at the deadline; what it says later is dropped', async () => {
  const late = deferred<object>()
  const handle = await servers.start([ECHO, tool('hang', () => late.promise)], { deadlineMs: 20 })
  const client = await servers.connect(handle)
  expect(await call(client, 'hang')).toEqual({
    text: 'hang did not answer within 0.02 s and was told to stop.',
    isError: true,
  })
  late.resolve({ content: 'too late' })
  expect(await call(client, 'echo', { text: 'next' })).toEqual({ text: 'echo: next', isError: false })
})

test('calls of several clients at once get their own answers, whatever order they end in', async () => {
  const all = deferred()
  let waiting = 0
  const handler = async ({ text }: Record<string, unknown>) => {
    waiting += 1
    if (waiting === CLIENTS * CALLS) all.resolve()
    await all.promise
    for (let turns = Math.floor(Math.random() * 20); turns > 0; turns -= 1) await nextLoopTurn()
    return { content: String(text) }
  }
  const handle = await servers.start([{ ...ECHO, handler }])
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => servers.connect(handle)))
  // The SDK numbers the requests of each client from 0, so all ids come four times.
  const results = await Promise.all(
    clients.flatMap((client, who) =>
      Array.from({ length: CALLS }, async (_, index) => {
        const text = `${who}/${index}`
        return (await call(client, 'echo', { text })).text === text
      }),
    ),
  )
  expect(results).toHaveLength(CLIENTS * CALLS)
  expect(results.every(Boolean)).toBe(true)
})

const CLIENTS = 4
const CALLS = 25

describe('a client that loses interest', () => {
  async function startHanging() {
    const started = deferred<AbortSignal>()
    const handle = await servers.start([
      ECHO,
      tool('hang', (_args, { signal }) => {
        started.resolve(signal)
        return new Promise(() => {})
      }),
    ])
    return { handle, started: started.promise, client: await servers.connect(handle) }
  }

  test('by cancelling: the handler is told, and nothing waits for an answer any more', async () => {
    const { client, started } = await startHanging()
    const interest = new AbortController()
    const result = client.callTool({ name: 'hang' }, undefined, { signal: interest.signal })
    const signal = await started
    interest.abort('changed my mind')
    await expect(result).rejects.toThrow('changed my mind')
    expect(await fired(signal)).toMatchObject({ message: 'hang was cancelled.' })
    expect(await call(client, 'echo', { text: 'again' })).toMatchObject({ text: 'echo: again' })
  })

  test('by cancelling: the stream of the call ends, without an answer', async () => {
    const { handle, started } = await startHanging()
    const { headers } = await send(handle, { body: INITIALIZE })
    const session = { 'mcp-session-id': headers['mcp-session-id'] }
    const answer = send(handle, { headers: session, body: rpc('tools/call', { name: 'hang' }, 7) })
    await started
    const body = notification('notifications/cancelled', { requestId: 7 })
    expect((await send(handle, { headers: session, body })).status).toBe(202)
    expect(await answer).toMatchObject({ status: 200, body: '' })
  })

  test('by going away in the middle: the handler is told, and others are served', async () => {
    const { client, started, handle } = await startHanging()
    const result = client.callTool({ name: 'hang' })
    const signal = await started
    await client.close()
    await expect(result).rejects.toThrow()
    expect(await fired(signal)).toMatchObject({ message: 'hang was cancelled.' })
    expect(await call(await servers.connect(handle), 'echo', { text: 'hi' })).toMatchObject({
      text: 'echo: hi',
    })
  })
})
