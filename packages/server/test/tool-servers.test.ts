import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { ClaudeCodeHarness, HarnessRegistry } from '@chirality/runner'
import { expect, test } from 'vitest'
import { createWorld, serveWorld } from './support/agents.ts'
import { startTestServer, type TestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'
import { SessionWatch } from './support/watch-session.ts'

interface Shown {
  place: { kind: string }
  servers: { name: string; fingerprint: string; wasTried: boolean; untried: string | null; config: object }[]
}

async function list(server: TestServer): Promise<Shown[]> {
  const input = encodeURIComponent(JSON.stringify({ project: server.project }))
  const { result } = (await (await server.fetch(`/trpc/toolServers.list?input=${input}`)).json()) as {
    result: { data: Shown[] }
  }
  return result.data
}

async function ask(server: TestServer, call: string, input: object) {
  const response = await server.post(`/trpc/toolServers.${call}`, { project: server.project, ...input })
  const body = (await response.json()) as {
    result?: { data: unknown }
    error?: { message: string; data: { reason: string } }
  }
  return { status: response.status, data: body.result?.data, reason: body.error?.data.reason }
}

const PROJECT = { kind: 'user-project' }

/** Writes a file when it is started, then ends: what matters here is whether it was. */
function witness(server: TestServer, env: Record<string, string | null> = {}) {
  const file = path.join(server.project, '../started')
  const program = `require('fs').writeFileSync(${JSON.stringify(file)}, 'yes'); console.error(process.env.API_KEY); process.exit(1)`
  return { file, config: { type: 'stdio', command: process.execPath, args: ['-e', program], env } }
}

test('a secret is stored for its owner alone, never given out, kept by null, and out of what a failed server says', async () => {
  const server = await startTestServer()
  const { config } = witness(server, { API_KEY: 'key-123456' })
  expect((await ask(server, 'save', { place: PROJECT, name: 'tracker', config })).status).toBe(200)
  const kept = { ...config, env: { API_KEY: null } }
  expect((await ask(server, 'save', { place: PROJECT, name: 'tracker', config: kept })).status).toBe(200)
  const unknown = { ...config, env: { OTHER: null } }
  expect((await ask(server, 'save', { place: PROJECT, name: 'tracker', config: unknown })).reason).toBe(
    'invalid-input',
  )

  const folder = path.join(server.home, 'tool-servers')
  const [file = ''] = readdirSync(folder)
  expect(statSync(path.join(folder, file)).mode & 0o077).toBe(0)
  expect(readFileSync(path.join(folder, file), 'utf8')).toContain('key-123456')

  const listed = await list(server)
  expect(JSON.stringify(listed)).not.toContain('key-123456')
  const [entry] = listed.find(({ place }) => place.kind === 'user-project')?.servers ?? []
  expect(entry).toMatchObject({
    name: 'tracker',
    wasTried: false,
    untried: null,
    config: { env: ['API_KEY'] },
  })
  expect(server.host.toolServers.forTurn(server.project, null)).toMatchObject({
    tracker: { env: { API_KEY: 'key-123456' } },
  })

  // Those that a program lends to a session are for its turns only, stored nowhere, and never replace the user's own.
  const { id: sessionId } = await server.host.store.create(server.project, null, 'direct')
  const lend = async (input: object) => {
    const response = await server.post('/trpc/toolServers.lend', { sessionId, ...input })
    return response.status
  }
  const lent = { ...config, env: { API_KEY: 'lent-654321' } }
  expect(await lend({ servers: { tracker: lent, editor: lent } })).toBe(200)
  expect(server.host.toolServers.forTurn(server.project, null, sessionId)).toMatchObject({
    tracker: { env: { API_KEY: 'key-123456' } },
    editor: { env: { API_KEY: 'lent-654321' } },
  })
  expect(server.host.toolServers.forTurn(server.project, null, 'another')).not.toHaveProperty('editor')
  expect(readFileSync(path.join(folder, file), 'utf8')).not.toContain('lent-654321')
  expect(await lend({ servers: { editor: kept } })).toBe(400)
  expect(await lend({ servers: { 'no name': lent } })).toBe(400)
  expect(await lend({ servers: {}, sessionId: 'another' })).not.toBe(200)
  expect(await lend({ servers: {} })).toBe(200)
  expect(server.host.toolServers.forTurn(server.project, null, sessionId)).not.toHaveProperty('editor')
  expect(await lend({ servers: { editor: lent } })).toBe(200)
  await server.host.deleteSession(sessionId)
  expect(server.host.toolServers.forTurn(server.project, null, sessionId)).not.toHaveProperty('editor')

  const tried = await ask(server, 'test', {
    place: PROJECT,
    name: 'tracker',
    fingerprint: entry?.fingerprint,
  })
  expect(tried.data).toMatchObject({ kind: 'failed', lastWords: '••••••' })
  const logs = path.join(server.project, '.chirality')
  for (const name of existsSync(logs) ? readdirSync(logs, { recursive: true, encoding: 'utf8' }) : []) {
    const one = path.join(logs, name)
    if (statSync(one).isFile()) expect(readFileSync(one, 'utf8')).not.toContain('key-123456')
  }
  expect((await list(server)).flatMap(({ servers }) => servers)[0]?.wasTried).toBe(true)
  await ask(server, 'remove', { place: PROJECT, name: 'tracker' })
  expect((await list(server)).flatMap(({ servers }) => servers)).toEqual([])
  expect(server.faults).toEqual([])
})

test('what changed since it was shown is not started', async () => {
  const server = await startTestServer()
  const { file, config } = witness(server)
  await ask(server, 'save', {
    place: PROJECT,
    name: 'x',
    config: { ...config, command: '/bin/true', args: [] },
  })
  const shown = (await list(server)).flatMap(({ servers }) => servers)[0]
  await ask(server, 'save', { place: PROJECT, name: 'x', config })
  const tried = await ask(server, 'test', { place: PROJECT, name: 'x', fingerprint: shown?.fingerprint })
  expect([tried.status, tried.reason]).toEqual([409, 'changed'])
  expect(existsSync(file)).toBe(false)
})

test('a server of the project needs the trust that an agent needs', async () => {
  const harnesses = new HarnessRegistry<SessionHarness>()
  harnesses.register(new ClaudeCodeHarness({ environment: {} }))
  const server = await startTestServer({ harnesses })
  const { file, config } = witness(server)
  const text = JSON.stringify({ mcpServers: { theirs: config } })
  writeFileSync(path.join(server.project, '.mcp.json'), text)

  const theirs = async () => (await list(server)).find(({ place }) => place.kind === 'project')?.servers[0]
  const before = await theirs()
  expect(before).toMatchObject({ name: 'theirs', untried: expect.stringContaining('not allowed') })
  const test = () =>
    ask(server, 'test', { place: { kind: 'project' }, name: 'theirs', fingerprint: before?.fingerprint })
  expect(await test()).toMatchObject({ status: 403, reason: 'unsafe' })
  expect(existsSync(file)).toBe(false)

  const { fingerprint } = await server.host.trust.state(server.project)
  await server.host.trust.allow(server.project, fingerprint)
  expect((await theirs())?.untried).toBeNull()
  expect((await test()).data).toMatchObject({ kind: 'failed' })
  expect(existsSync(file)).toBe(true)
  // It is never among those that are given to every agent.
  expect(server.host.toolServers.forTurn(server.project, null)).toEqual({})
})

test.each([
  { name: '../x', config: { type: 'stdio', command: 'x', args: [], env: {} } },
  { name: 'x', config: { type: 'stdio', command: '', args: [], env: {} } },
  { name: 'x', config: { type: 'stdio', command: 'x', args: [], env: { 'A=B': 'c' } } },
  { name: 'x', config: { type: 'http', url: 'file:///etc/passwd', headers: {} } },
  { name: 'x', config: { type: 'http', url: 'https://me:secret@example.com/', headers: {} } },
  { name: 'x', place: { kind: 'project' }, config: { type: 'stdio', command: 'x', args: [], env: {} } },
  {
    name: 'x',
    place: { kind: 'user-persona', persona: '../y' },
    config: { type: 'http', url: 'http://a/', headers: {} },
  },
])('%j is refused', async input => {
  const server = await startTestServer()
  expect(await ask(server, 'save', { place: PROJECT, ...input })).toMatchObject({
    status: 400,
    reason: 'invalid-input',
  })
  expect(existsSync(path.join(server.home, 'tool-servers'))).toBe(false)
})

/** Speaks MCP with one tool, and says what it was called with and whether it has its secret. */
const SHOP = `
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'shop', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'refund', description: 'Pays back.', inputSchema: { type: 'object', properties: { order: { type: 'string' } } } }] }),
  'tools/call': ({ arguments: { order } }) => ({ content: [{ type: 'text', text: order + ' is paid back, key ' + (process.env.SHOP_KEY ?? 'missing').length }] }),
}
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = answers[method]
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...(answer ? { result: answer(params) } : { error: { code: -32601, message: 'no' } }) }) + '\\n')
})`

test('a tool server that was added in the settings is used by a turn of Claude Code, after a person allowed the call', async () => {
  const world = await createWorld({
    answers: [{ tool: 'mcp__shop__refund', input: { order: 'A1' } }],
    otherwise: 'It is paid back.',
  })
  const server = await serveWorld(world)
  const { client } = connect(server)
  const { project } = world
  const config = {
    ...{ type: 'stdio' as const, command: process.execPath, args: ['-e', SHOP] },
    env: { SHOP_KEY: 'key-123456' },
  }
  const place = { kind: 'user-project' as const }
  await client.toolServers.save.mutate({ project, place, name: 'shop', config })
  const { id: sessionId } = await client.sessions.create.mutate({ project, harness: 'claude-code' })
  const watch = new SessionWatch(client, sessionId)
  await client.turns.start.mutate({ sessionId, message: 'Pay A1 back.' })
  const { requestId, toolName } = await watch.until('permission:request')
  expect(toolName).toBe('mcp__shop__refund')
  await client.decisions.answer.mutate({ sessionId, requestId, decision: { behavior: 'allow' } })
  await watch.until('turn:end')
  const told = JSON.stringify(world.model.requests.map(({ body }) => body))
  expect(told).toContain('A1 is paid back, key 10')
  expect(told).not.toContain('key-123456')
})
