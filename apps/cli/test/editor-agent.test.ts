import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import { startServer } from '@chirality/server'
import { expect, onTestFinished, test } from 'vitest'
import { EditorAgent } from '../src/commands/acp/editor-agent.ts'
import { EditorConnection } from '../src/commands/acp/editor-connection.ts'
import { Output } from '../src/output.ts'
import { connected } from '../src/running-server.ts'

/** A server without agents, a session of it, and an agent for an editor whose output is kept. */
async function open() {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-editor-')))
  const cwd = path.join(folder, 'project')
  mkdirSync(cwd)
  const { url, token, host, close } = await startServer({
    ...{ harnesses: new HarnessRegistry<SessionHarness>(), projects: [cwd], port: 0 },
    home: path.join(folder, 'home'),
  })
  const { id: sessionId } = await host.createSession(cwd)
  const agent = new EditorAgent({
    ...{ version: '1.2.3', newSession: {}, tell: () => {} },
    serverFor: () => connected({ url, token, pid: process.pid }),
  })
  const stream = new PassThrough()
  let shown = ''
  stream.on('data', (data: Buffer) => {
    shown += data.toString()
  })
  const output = new Output(stream as unknown as NodeJS.WriteStream)
  agent.connect(
    new EditorConnection(output, {
      onRequest: (method, params) => agent.onRequest(method, params),
      onNotification: (method, params) => agent.onNotification(method, params),
      explain: error => agent.explain(error),
    }),
  )
  onTestFinished(async () => {
    agent.close()
    await close()
    rmSync(folder, { recursive: true, force: true })
  })
  await agent.onRequest('initialize', { protocolVersion: 1 })
  const load = (mcpServers: unknown[]) => agent.onRequest('session/load', { sessionId, cwd, mcpServers })
  return { agent, host, cwd, sessionId, load, shown: () => shown }
}

const TOOLS = { name: 'tools', command: 'true', args: [], env: [] }

test('the tool servers of an editor end when the session is opened again without them', async () => {
  const { host, cwd, sessionId, load } = await open()
  host.toolServers.lend(sessionId, { tools: { type: 'stdio', command: 'true' } })
  await load([])
  expect(host.toolServers.forTurn(cwd, null, sessionId)).toEqual({})
})

test('a tool server that the server would refuse is left out, and named with the reason', async () => {
  const { load, shown } = await open()
  const odd = [
    { ...TOOLS, name: 'variable', env: [{ name: 'NOT.GOOD', value: 'sk-secret' }] },
    { ...TOOLS, name: 'long', args: ['x'.repeat(5000)] },
    { type: 'http', name: 'password', url: 'https://me:sk-secret@a.example/', headers: [] },
  ]
  const answer = await load([TOOLS, ...odd])
  expect(answer).toMatchObject({
    _meta: { chirality: { unusedMcpServers: ['variable', 'long', 'password'] } },
  })
  await expect.poll(shown).toContain('variable: env NOT.GOOD: is no name for a variable or a header')
  expect(shown()).toContain('password: url: must not hold a password: use a header')
  expect(shown()).not.toContain('sk-secret')
})

test('a turn that begins elsewhere is shown while the user is asked about a tool server', async () => {
  const { agent, host, sessionId, load, shown } = await open()
  await load([TOOLS])
  const prompt = [{ type: 'text', text: 'Go' }]
  const prompted = agent.onRequest('session/prompt', { sessionId, prompt })
  await expect.poll(shown).toContain('session/request_permission')
  const { log } = await host.session(sessionId)
  log.append({ type: 'turn:start', sessionId, message: 'From elsewhere.' }, { turnId: 'another' })
  await expect.poll(shown, { timeout: 20_000 }).toContain('From elsewhere.')
  agent.onNotification('session/cancel', { sessionId })
  expect(await prompted).toEqual({ stopReason: 'cancelled' })
})
