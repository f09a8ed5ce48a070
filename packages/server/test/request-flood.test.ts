import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { startTestServer, type TestServer } from './support/test-server.ts'

const REQUESTS = 300
/** So many wait for a person; the others are denied. */
const OPEN = 100

/** An agent that asks all at once, and ends its turn when all is answered. */
const FLOOD = `
  const send = message => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
  let rest = ''
  let open = ${REQUESTS}
  let turn
  process.stdin.on('data', chunk => {
    const lines = (rest + chunk).split('\\n')
    rest = lines.pop()
    for (const line of lines) hear(JSON.parse(line))
  })
  function hear({ id, method }) {
    if (method === 'initialize') return send({ id, result: { protocolVersion: 1, agentCapabilities: {} } })
    if (method === 'session/new') return send({ id, result: { sessionId: 'one' } })
    if (method === 'session/cancel') return send({ id: turn, result: { stopReason: 'cancelled' } })
    if (method === undefined) return (open -= 1) === 0 && send({ id: turn, result: { stopReason: 'end_turn' } })
    if (method !== 'session/prompt') return send({ id, error: { code: -32601, message: 'no' } })
    turn = id
    for (let at = 0; at < ${REQUESTS}; at += 1) {
      const toolCall = { toolCallId: 'c' + at, title: 'touch ' + at, kind: 'execute', rawInput: { command: 'touch ' + at } }
      const options = [
        { optionId: 'yes', kind: 'allow_once', name: 'Yes' },
        { optionId: 'no', kind: 'reject_once', name: 'No' },
      ]
      send({ id: 'ask' + at, method: 'session/request_permission', params: { sessionId: 'one', toolCall, options } })
    }
  }
`

function eventsOf(
  server: TestServer,
  sessionId: string,
): { type: string; outcome?: string; message?: string }[] {
  const file = path.join(server.project, '.chirality', 'events', `${sessionId}.ndjson`)
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
  return lines.map(line => JSON.parse(line).event)
}

function handledOf(server: TestServer, sessionId: string): number {
  const file = path.join(server.project, '.chirality', 'events', `${sessionId}.ndjson`)
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return text.split('"event":{"type":"permission:').length - 1
}

test('an agent that asks for everything at once stops nobody: the others are answered, and it is told why', async () => {
  const server = await startTestServer()
  const change = async (name: string, input: object) => {
    const response = await server.post(`/trpc/${name}`, input)
    const { result, error } = (await response.json()) as {
      result?: { data?: { id: string } }
      error?: unknown
    }
    expect(error).toBeUndefined()
    return result?.data?.id ?? ''
  }
  await change('agents.add', { name: 'flood', command: process.execPath, args: ['-e', FLOOD], env: [] })
  const sessionId = await change('sessions.create', {
    project: server.project,
    harness: 'acp-flood',
    permissionMode: 'default',
  })
  await change('turns.send', { sessionId, message: 'Go.' })
  // Each time that another one is answered, the flood has come a little further.
  const seen = new Set<number>()
  for (let handled = 0; handled < REQUESTS + REQUESTS - OPEN; ) {
    expect((await server.fetch('/healthz')).status).toBe(200)
    handled = handledOf(server, sessionId)
    if (handled > 0) seen.add(handled)
  }
  expect(seen.size).toBeGreaterThan(3)
  const events = eventsOf(server, sessionId)
  expect(events.filter(({ type }) => type === 'permission:request')).toHaveLength(REQUESTS)
  const denied = events.filter(({ type }) => type === 'permission:resolved')
  expect(denied).toHaveLength(REQUESTS - OPEN)
  expect(new Set(denied.map(({ outcome, message }) => `${outcome} ${message}`)).size).toBe(1)
  await change('turns.interrupt', { sessionId })
  await expect
    .poll(() => eventsOf(server, sessionId).some(({ type }) => type === 'turn:end'), { timeout: 60_000 })
    .toBe(true)
})
