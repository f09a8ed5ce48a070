import { type IncomingHttpHeaders, request } from 'node:http'
import type { ClientToolDefinition } from '@chirality/core'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterEach } from 'vitest'
import {
  startToolServer,
  type ToolServerHandle,
  type ToolServerOptions,
} from '../../src/tool-server/index.ts'

export const ECHO: ClientToolDefinition = {
  name: 'echo',
  description: 'Says it again.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  handler: async ({ text }) => ({ content: `echo: ${text}` }),
}

/** A tool that takes anything and does what the test says. */
export function tool(name: string, handler: ClientToolDefinition['handler']): ClientToolDefinition {
  return { name, description: `Does ${name}.`, inputSchema: { type: 'object' }, handler }
}

/** Servers and the SDK's own clients, all gone after the test. */
export function useToolServer() {
  let open: (() => Promise<void>)[] = []
  afterEach(async () => {
    await Promise.all(open.map(close => close()))
    open = []
  })
  return {
    async start(
      tools: ClientToolDefinition[] = [ECHO],
      options?: ToolServerOptions,
    ): Promise<ToolServerHandle> {
      const handle = await startToolServer(tools, options)
      open.push(() => handle.stop())
      return handle
    },
    async connect({ mcpServer }: ToolServerHandle): Promise<Client> {
      const client = new Client({ name: 'test', version: '1' })
      const transport = new StreamableHTTPClientTransport(new URL(mcpServer.url), {
        requestInit: { headers: mcpServer.headers ?? {} },
      })
      await client.connect(transport)
      open.push(() => client.close())
      return client
    },
  }
}

export interface Called {
  text: string
  isError: boolean
}

export async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Called> {
  const { content, isError = false } = await client.callTool({ name, arguments: args })
  if (!Array.isArray(content)) throw new Error('a result without content')
  return { text: content.map(block => block.text).join(), isError: isError === true }
}

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

export interface Sent {
  method?: string
  path?: string
  /** Over what an MCP client with the right token sends; `undefined` takes one away. */
  headers?: Record<string, string | string[] | undefined>
  body?: string | Buffer
}

/** A request with every detail in the test's hands. */
export function send({ mcpServer }: ToolServerHandle, sent: Sent = {}): Promise<Answer> {
  const { hostname, port, pathname } = new URL(mcpServer.url)
  const headers: Sent['headers'] = {
    ...mcpServer.headers,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...sent.headers,
  }
  const given = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  )
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: hostname,
      port,
      method: sent.method ?? 'POST',
      path: sent.path ?? pathname,
      headers: Object.fromEntries(given),
      agent: false,
    })
    outgoing.on('error', reject)
    outgoing.on('response', response => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        body += chunk
      })
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
    })
    outgoing.end(sent.body)
  })
}

export function rpc(method: string, params: unknown = {}, id = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

export function notification(method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params })
}

export const INITIALIZE = rpc('initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'raw', version: '1' },
})

/** A promise to be settled by the test. */
export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>(settle => {
    resolve = settle
  })
  return { promise, resolve }
}

/** Resolves with the reason once the signal has fired. */
export function fired(signal: AbortSignal): Promise<unknown> {
  return new Promise(resolve => {
    if (signal.aborted) resolve(signal.reason)
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true })
  })
}
