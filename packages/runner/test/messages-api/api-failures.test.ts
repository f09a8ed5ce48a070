import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ScriptAnswer } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { ApiError, type Config } from '../../src/messages-api/index.ts'
import { useLoops } from './support/loops.ts'

const loops = useLoops()

describe('failures of the API', () => {
  const soon = { status: 529, headers: { 'retry-after-ms': '1' } }

  test.each<[string, ScriptAnswer, number | undefined]>([
    ['429', { error: { status: 429, headers: { 'retry-after-ms': '1' } } }, 429],
    ['500', { error: { status: 500, headers: { 'retry-after-ms': '1' } } }, 500],
    ['529', { error: soon }, 529],
    ['an overloaded stream before any content', { text: 'x', streamError: { after: 0 } }, 529],
    [
      'an overloaded stream in the middle',
      { text: 'one two', chunkChars: 2, streamError: { after: 2 } },
      529,
    ],
    ['a connection that is cut at once', { text: 'x', cutAfter: 'nothing' }, undefined],
    [
      'a connection that is cut in the middle',
      { text: 'one two three', chunkChars: 2, cutAfter: 3 },
      undefined,
    ],
  ])('%s is tried again, and the partial answer is forgotten', async (_what, failure, status) => {
    const { loop, told } = await loops.open({ answers: [failure, 'Whole.'] })
    expect(await loop.prompt('Go')).toMatchObject({ text: 'Whole.' })
    expect(told).toEqual([
      ['user', 'Go'],
      ['retry', 1, status],
      ['text', 'Whole.'],
    ])
    expect(loop.history).toHaveLength(2)
  })

  test.each<[number, string]>([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [403, 'permission_error'],
    [404, 'not_found_error'],
    [413, 'request_too_large'],
  ])('%i is told at once', async (status, type) => {
    const { loop, model } = await loops.open({ answers: [{ error: status }] })
    const failing = loop.prompt('Go')
    await expect(failing).rejects.toBeInstanceOf(ApiError)
    await expect(failing).rejects.toMatchObject({ status, type })
    expect(model.requests).toHaveLength(1)
    expect(loop.history).toHaveLength(1)
  })

  test('it gives up after so many times, or when the API says so', async () => {
    const { loop, model } = await loops.open(
      { answers: [{ error: soon, times: 9 }] },
      { config: { maxRetries: 2 } },
    )
    await expect(loop.prompt('Go')).rejects.toMatchObject({ status: 529 })
    expect(model.requests).toHaveLength(3)
    const told = await loops.open({
      answers: [{ error: { status: 500, headers: { 'x-should-retry': 'false' } } }],
    })
    await expect(told.loop.prompt('Go')).rejects.toMatchObject({ status: 500 })
  })

  test('cancelling ends the wait at once', async () => {
    const { loop, model } = await loops.open({
      answers: [{ error: { status: 529, retryAfterSeconds: 200 } }],
    })
    const failing = loop.prompt('Go')
    await model.waitForRequest(({ state }) => state === 'done')
    loop.cancel()
    await expect(failing).rejects.toMatchObject({ name: 'AbortError' })
  })

  test('a fallback model takes over when the other stays overloaded', async () => {
    const { loop, model, told } = await loops.open(
      { answers: [{ error: soon, times: 2 }, 'Instead.'] },
      { config: { maxRetries: 1, model: 'big', fallbackModel: 'small' } },
    )
    expect(await loop.prompt('Go')).toMatchObject({ text: 'Instead.' })
    expect(told).toContainEqual(['fallback', 'big', 'small'])
    expect(model.requests.map(({ body }) => (body as { model: string }).model)).toEqual([
      'big',
      'big',
      'small',
    ])
  })

  test.each<[string, Partial<Config>, string]>([
    ['an address that is none', { baseUrl: 'file:///etc/passwd' }, 'not an http or https URL'],
    ['no key', { apiKey: '' }, 'apiKey is required'],
    ['a key that is none', { apiKey: 'secret\nkey' }, 'not allowed in a key'],
  ])('%s is told before anything is sent, and no key with it', async (_what, config, said) => {
    const opening = loops.open({ answers: [] }, { config })
    await expect(opening).rejects.toThrow(said)
    await expect(opening).rejects.not.toThrow('secret')
  })

  test('an answer that is no event stream fails at once', async () => {
    const server = createServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end('<p>'),
    )
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      const { loop } = await loops.open({ answers: [] }, { config: { baseUrl: `http://127.0.0.1:${port}` } })
      await expect(loop.prompt('Go')).rejects.toThrow('text/html instead of a stream')
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })

  test('a redirect is not followed: it would carry the key along', async () => {
    const asked: unknown[] = []
    const server = createServer(({ headers }, response) => {
      asked.push(headers['x-api-key'])
      response.writeHead(307, { location: '/elsewhere/v1/messages' }).end()
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      const { loop } = await loops.open({ answers: [] }, { config: { baseUrl: `http://127.0.0.1:${port}` } })
      await expect(loop.prompt('Go')).rejects.toMatchObject({ status: 307 })
      expect(asked).toEqual(['dummy'])
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })
})
