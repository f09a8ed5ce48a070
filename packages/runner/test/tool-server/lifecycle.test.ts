import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { HarnessError } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { runHelper } from '../../src/process/program/run-helper.ts'
import { startToolServer, TOOL_SERVER_NAME } from '../../src/tool-server/index.ts'
import { TEST_ENV } from '../support/programs.ts'
import { call, deferred, ECHO, fired, INITIALIZE, send, tool, useToolServer } from './support.ts'

const servers = useToolServer()

test('the handle says how to register the server', async () => {
  const handle = await servers.start()
  expect(handle.serverName).toBe('__harness_client_tools')
  expect(handle.serverName).toBe(TOOL_SERVER_NAME)
  expect(handle.mcpServer).toEqual({
    type: 'http',
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/),
    headers: { Authorization: expect.stringMatching(/^Bearer [\w-]{43}$/) },
  })
})

describe('stop()', () => {
  test('in the middle of a call tells the handler, drops the client and frees the port', async () => {
    const started = deferred<AbortSignal>()
    const handle = await servers.start([
      tool('hang', (_args, { signal }) => {
        started.resolve(signal)
        return new Promise(() => {})
      }),
    ])
    const client = await servers.connect(handle)
    const result = client.callTool({ name: 'hang' })
    result.catch(() => {})
    const signal = await started.promise
    await handle.stop()
    expect(await fired(signal)).toMatchObject({ message: 'hang was cancelled.' })
    await expect(send(handle, { body: INITIALIZE })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    const port = Number(new URL(handle.mcpServer.url).port)
    const next = await servers.start([ECHO], { port })
    expect(next.mcpServer.url).toBe(handle.mcpServer.url)
  })

  test('can be called twice, and by the end of a block', async () => {
    const handle = await startToolServer([ECHO])
    await Promise.all([handle.stop(), handle.stop(), handle[Symbol.asyncDispose]()])
    await expect(send(handle)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('is called when the signal fires', async () => {
    const controller = new AbortController()
    const handle = await servers.start([ECHO], { signal: controller.signal })
    expect(await call(await servers.connect(handle), 'echo', { text: 'hi' })).toMatchObject({
      text: 'echo: hi',
    })
    controller.abort()
    await handle.stop()
    await expect(send(handle)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})

describe('nothing is started', () => {
  test.each([
    ['two tools of one name', [ECHO, ECHO], {}, 'invalid_query', /two tools/],
    [
      'an invalid schema',
      [{ ...ECHO, inputSchema: { type: 'nonsense' } }],
      {},
      'invalid_query',
      /inputSchema/,
    ],
    ['a host beyond loopback', [ECHO], { host: '0.0.0.0' }, 'invalid_query', /"0\.0\.0\.0"/],
    ['a name instead of an address', [ECHO], { host: 'localhost' }, 'invalid_query', /"localhost"/],
    ['no host at all', [ECHO], { host: '' }, 'invalid_query', /127\.0\.0\.1/],
    ['a deadline that overflows a timer', [ECHO], { deadlineMs: 2 ** 31 }, 'invalid_query', /deadlineMs/],
    ['a deadline of nothing', [ECHO], { deadlineMs: Number.NaN }, 'invalid_query', /deadlineMs/],
    ['no room for a result', [ECHO], { maxResultBytes: 0 }, 'invalid_query', /maxResultBytes/],
    ['a port that is none', [ECHO], { port: 70_000 }, 'unknown', /cannot listen/],
    ['a signal that has fired', [ECHO], { signal: AbortSignal.abort() }, 'aborted', /stopped before/],
  ])('for %s', async (_what, tools, options, code, message) => {
    const failure = await startToolServer(tools, { ...options, harnessId: 'codex' }).catch(
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(HarnessError)
    expect(failure).toMatchObject({ code, harnessId: 'codex', message: expect.stringMatching(message) })
  })

  test('on a port that is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise(resolve => taken.once('listening', resolve))
    const address = taken.address()
    const port = typeof address === 'object' && address ? address.port : 0
    await expect(startToolServer([ECHO], { port })).rejects.toThrow(/cannot listen: .*EADDRINUSE/)
    await new Promise(resolve => taken.close(resolve))
  })
})

describe('a program', () => {
  function run(name: string, ...args: string[]) {
    const file = fileURLToPath(new URL(`./programs/${name}`, import.meta.url))
    const flags = ['--import', 'tsx', '--conditions=@chirality/source']
    const cwd = fileURLToPath(new URL('../..', import.meta.url))
    return runHelper(process.execPath, [...flags, file, ...args], { cwd, env: TEST_ENV, timeoutMs: 60_000 })
  }

  test('ends by itself after stop(), and has printed nothing that is not its own', async () => {
    const { code, stdout, stderr } = await run('life.ts')
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'stopped\n', stderr: '' })
  })

  test('that uses no client tools never loads the MCP SDK', async () => {
    for (const name of ['@chirality/runner', '@chirality/runner/tool-server'])
      expect(await run('without-sdk.mjs', name)).toMatchObject({ code: 0, stdout: 'loaded\n' })
  })

  test('is told what to install if it uses client tools without the MCP SDK', async () => {
    const calls = [
      ['@chirality/runner', 'serveClientTools'],
      ['@chirality/runner/tool-server', 'startToolServer'],
      ['@chirality/runner/tool-server', 'startToolServer', 'too old'],
    ]
    for (const call of calls) {
      const { code, stderr } = await run('without-sdk.mjs', ...call)
      expect(code).toBe(1)
      expect(stderr).toContain("code: 'not_installed'")
      expect(stderr).toContain('npm install @modelcontextprotocol/sdk')
    }
  })
})
