import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Script } from '@chirality/scripted-model'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect, onTestFinished } from 'vitest'
import { createWorld } from './agents.ts'
import { startTestServer, type TestServer } from './test-server.ts'

type Answer = { text: string; json: unknown; isError: boolean }

/** A server with a project, and a program of the user that is connected to it. */
export async function open(script: Script) {
  const world = await createWorld(script)
  const server = await startTestServer({ harnesses: world.harnesses(), projects: [world.project] })
  const program = await connect(server, world.project)
  return { world, server, ...program }
}

/** The SDK's own client, with a token for the project. */
export async function connect(server: TestServer, project: string, marker?: string) {
  const response = await server.post('/trpc/system.newProgramToken', { project, marker })
  const { result } = (await response.json()) as { result: { data: { url: string; token: string } } }
  const { url, token } = result.data
  const client = new Client({ name: 'a test', version: '1' })
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit })
  // The SDK's own types do not agree under `exactOptionalPropertyTypes`.
  await client.connect(transport as Parameters<typeof client.connect>[0])
  onTestFinished(() => client.close())
  const call = async (name: string, input: object = {}): Promise<Answer> => {
    const result = await client.callTool({ name, arguments: { ...input } })
    const [part] = result.content as { text: string }[]
    const text = part?.text ?? ''
    const isError = result.isError === true
    return { text, json: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : null, isError }
  }
  const start = async (input: object): Promise<string> => {
    const { json, text } = await call('start_session', { agent: 'messages-api', ...input })
    expect(text).toContain('session_id')
    return (json as { session_id: string }).session_id
  }
  return { client, url, token, call, start }
}

/** What a program that the agent of a running turn starts inherits. */
export function markerOf(project: string, sessionId: string): string | undefined {
  const record = path.join(project, '.chirality/state/turns', `${sessionId}.json`)
  const { processes } = JSON.parse(readFileSync(record, 'utf8')) as { processes: { marker: string }[] }
  return processes[0]?.marker
}
