import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { McpServerConfig } from '@chirality/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startToolServer } from '../../src/tool-server/index.ts'
import { probeToolServer } from '../../src/tool-server/probe-server.ts'
import { isRunning } from '../support/programs.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-probe-')))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const environment = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  SECRET_OF_THE_USER: 'not for servers',
}

/** A server that is one program; `answer` is what it does with each request. */
function server(answer: string, env: Record<string, string> = {}): McpServerConfig {
  const file = path.join(folder, 'server.mjs')
  writeFileSync(
    file,
    `import { createInterface } from 'node:readline'
    import { writeFileSync } from 'node:fs'
    import { spawn } from 'node:child_process'
    const say = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
    createInterface({ input: process.stdin }).on('line', line => {
      const { id, method } = JSON.parse(line)
      ${answer}
      if (method === 'initialize')
        say(id, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } })
      if (method === 'tools/list')
        say(id, { tools: [{ name: 'search', inputSchema: { type: 'object' } }, { name: 'open', inputSchema: { type: 'object' } }] })
    })
    setInterval(() => {}, 1000)`,
  )
  return { type: 'stdio', command: process.execPath, args: [file], env }
}

const probe = (config: McpServerConfig, timeoutMs?: number) =>
  probeToolServer(config, { cwd: folder, environment, ...(timeoutMs === undefined ? {} : { timeoutMs }) })

test('a server names its tools, gets its own variables and not the secrets of the user, and is gone with its children', async () => {
  const config = server(
    `if (method === 'tools/list') {
       const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
       writeFileSync('seen.json', JSON.stringify({
         pids: [process.pid, child.pid], key: process.env.API_KEY, other: process.env.SECRET_OF_THE_USER, cwd: process.cwd(),
       }))
     }`,
    { API_KEY: 'key-123456' },
  )
  const result = await probe(config)
  expect(result).toEqual({
    kind: 'connected',
    ms: expect.any(Number),
    tools: ['search', 'open'],
    hasMore: false,
  })
  const seen = JSON.parse(readFileSync(path.join(folder, 'seen.json'), 'utf8'))
  expect(seen).toMatchObject({ key: 'key-123456', cwd: folder })
  expect(seen.other).toBeUndefined()
  for (const pid of seen.pids) expect(await isRunning(pid)).toBe(false)
})

test('a server that ends says why, without the values of its variables', async () => {
  const config = server(`console.error('refused: ' + process.env.API_KEY); process.exit(3)`, {
    API_KEY: 'key-123456',
  })
  const result = await probe(config)
  expect(result).toMatchObject({ kind: 'failed', lastWords: 'refused: ••••••' })
  expect(JSON.stringify(result)).not.toContain('key-123456')
})

test('a server that never answers is ended when the time is up', async () => {
  const config = server(`writeFileSync('pid', String(process.pid)); return`)
  expect(await probe(config, 3_000)).toMatchObject({ kind: 'failed', error: 'It did not answer within 3 s.' })
  expect(await isRunning(Number(readFileSync(path.join(folder, 'pid'), 'utf8')))).toBe(false)
})

test('what is no program, and what talks no protocol, is a failure in words', async () => {
  expect(await probe({ type: 'stdio', command: path.join(folder, 'missing') })).toMatchObject({
    kind: 'failed',
  })
  const chatter = await probe({ type: 'stdio', command: 'echo', args: ['{"hello":1}'] })
  expect(chatter).toMatchObject({
    kind: 'failed',
    error: expect.stringMatching(/ended before|reads no input/),
  })
})

test('a server over HTTP is asked with its headers; a refusal does not repeat them', async () => {
  const handle = await startToolServer([
    {
      name: 'lookup',
      description: 'Looks up.',
      inputSchema: { type: 'object' },
      handler: async () => ({ content: 'x' }),
    },
  ])
  try {
    const { mcpServer } = handle
    expect(await probe(mcpServer)).toMatchObject({ kind: 'connected', tools: ['lookup'] })
    const wrong = { ...mcpServer, headers: { Authorization: 'Bearer wrong-secret' } } as McpServerConfig
    const refused = await probe(wrong)
    expect(refused).toMatchObject({ kind: 'failed' })
    expect(JSON.stringify(refused)).not.toContain('wrong-secret')
  } finally {
    await handle.stop()
  }
  expect(await probe({ type: 'http', url: 'http://127.0.0.1:9/mcp' })).toMatchObject({ kind: 'failed' })
})
