import type { McpServerConfig, McpStdioServerConfig } from '@chirality/core'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { anySignal } from '../common/any-signal.ts'
import { buildChildEnv } from '../env/child-env.ts'
import { type AgentProcess, spawnAgent } from '../process/agent-process.ts'
import { openSpool } from '../process/spool/spool.ts'
import { processEnv } from '../process/system/process-env.ts'
import { withMcpSdk } from './mcp-sdk.ts'

/** What a tool server said to whoever tried it. */
export type ServerProbe =
  | { kind: 'connected'; ms: number; tools: string[]; hasMore: boolean }
  /** `lastWords`: the end of what it printed on stderr. */
  | { kind: 'failed'; error: string; lastWords: string }

export interface ProbeOptions {
  /** The project: a server of the kind `stdio` is started there. */
  cwd: string
  /** Default: that of this process. Only what an agent gets of it reaches the server. */
  environment?: Record<string, string> | undefined
  /** For all of it. Default 20 s. */
  timeoutMs?: number | undefined
  signal?: AbortSignal | undefined
}

/**
 * Starts a tool server or connects to it, asks for its tools, and ends it with everything that it started. Never throws for what
 * the server does. Values of its environment and headers are taken out of what is reported.
 */
export async function probeToolServer(config: McpServerConfig, options: ProbeOptions): Promise<ServerProbe> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, signal } = options
  const limit = AbortSignal.timeout(timeoutMs)
  const ended = signal === undefined ? limit : anySignal([limit, signal])
  const startedAt = performance.now()
  const words = { text: '' }
  let close: () => Promise<void> = async () => {}
  try {
    const opened = await open(config, options, words)
    close = opened.close
    const { tools, hasMore } = await orEnded(listTools(opened.transport, ended), ended)
    return { kind: 'connected', ms: Math.round(performance.now() - startedAt), tools, hasMore }
  } catch (error) {
    const message = limit.aborted ? `It did not answer within ${timeoutMs / 1000} s.` : messageOf(error)
    const hide = hider(config)
    return { kind: 'failed', error: hide(message), lastWords: hide(words.text.trim()) }
  } finally {
    await close()
  }
}

const DEFAULT_TIMEOUT_MS = 20_000
const MAX_TOOLS = 200
const MAX_NAME_CHARS = 128
const MAX_WORDS_CHARS = 2_000
/** More than a list of tools takes; what prints on and on is ended. */
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024
const MAX_LINE_BYTES = 4 * 1024 * 1024

interface OpenServer {
  transport: Transport
  close(): Promise<void>
}

async function open(
  config: McpServerConfig,
  options: ProbeOptions,
  words: { text: string },
): Promise<OpenServer> {
  if (config.type === 'stdio') return openStdio(config, options, words)
  const { StreamableHTTPClientTransport } = await withMcpSdk(
    () => import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    'tool-server',
  )
  const transport = new StreamableHTTPClientTransport(new URL(config.url), {
    // A redirect could lead the headers, and what they hold, elsewhere.
    requestInit: { headers: config.headers ?? {}, redirect: 'error' },
    reconnectionOptions: { ...NO_RECONNECTION },
  })
  return { transport, close: () => transport.close().catch(() => {}) }
}

const NO_RECONNECTION = {
  maxReconnectionDelay: 1_000,
  initialReconnectionDelay: 1_000,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 0,
}

async function openStdio(
  { command, args = [], env = {}, cwd }: McpStdioServerConfig,
  options: ProbeOptions,
  words: { text: string },
): Promise<OpenServer> {
  const source = options.environment ?? processEnv()
  const child = await spawnAgent({
    command,
    args,
    cwd: cwd ?? options.cwd,
    env: buildChildEnv({ source, extra: env }).env,
    spool: await openSpool({
      projectRoot: options.cwd,
      harness: 'tool-server',
      sessionId: 'probe',
      turnId: 'probe',
      rawLogs: 'off',
    }),
    keepInputOpen: true,
    maxLineBytes: MAX_LINE_BYTES,
  })
  const transport = new ProcessTransport(child, words)
  const close = async () => {
    await child.stop({ interruptGraceMs: 0, termGraceMs: 500 })
    await transport.read
    await child.close()
  }
  return { transport, close }
}

/** JSON-RPC over the pipes of a process that is ended with everything it started. */
class ProcessTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: Transport['onmessage'] | undefined
  /** Settled when the process has ended and all it printed was read. */
  read: Promise<void> = Promise.resolve()
  readonly #child: AgentProcess
  readonly #words: { text: string }

  constructor(child: AgentProcess, words: { text: string }) {
    this.#child = child
    this.#words = words
  }

  async start(): Promise<void> {
    this.read = this.#read().catch((error: unknown) => this.onerror?.(toError(error)))
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!(await this.#child.write(`${JSON.stringify(message)}\n`))) throw new Error('It reads no input.')
  }

  async close(): Promise<void> {
    this.#child.endInput()
  }

  async #read(): Promise<void> {
    let bytes = 0
    for (let batch = await this.#child.read(); batch !== undefined; batch = await this.#child.read()) {
      for (const output of batch) {
        if (output.kind === 'stderr')
          this.#words.text = `${this.#words.text}${output.line}\n`.slice(-MAX_WORDS_CHARS)
        else if (output.kind === 'record' && output.record.kind === 'json') {
          bytes += output.record.bytes
          this.onmessage?.(output.record.value as JSONRPCMessage)
        }
      }
      if (bytes > MAX_OUTPUT_BYTES) void this.#child.stop({ interruptGraceMs: 0, termGraceMs: 0 })
    }
    this.onclose?.()
  }
}

async function listTools(
  transport: Transport,
  signal: AbortSignal,
): Promise<{ tools: string[]; hasMore: boolean }> {
  const { Client } = await withMcpSdk(
    () => import('@modelcontextprotocol/sdk/client/index.js'),
    'tool-server',
  )
  const client = new Client({ name: 'chirality', version: '1' }, { capabilities: {} })
  const exited = new Promise<never>((_, reject) => {
    client.onclose = () => reject(new Error('It ended before it said which tools it has.'))
  })
  const connected = (async () => {
    await client.connect(transport, { signal })
    const { tools, nextCursor } = await client.listTools({}, { signal })
    return {
      tools: tools.slice(0, MAX_TOOLS).map(({ name }) => name.slice(0, MAX_NAME_CHARS)),
      hasMore: tools.length > MAX_TOOLS || nextCursor !== undefined,
    }
  })()
  return Promise.race([connected, exited])
}

async function orEnded<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const ended = new Promise<never>((_, reject) => {
    const end = () => reject(new Error('It was stopped.'))
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
  work.catch(() => {})
  return Promise.race([work, ended])
}

/** Takes the values of the environment and of the headers out of a text. */
function hider(config: McpServerConfig): (text: string) => string {
  const values = Object.values((config.type === 'stdio' ? config.env : config.headers) ?? {})
  const secrets = values
    .flatMap(value => [value, value.replace(/^\S+ /, '')])
    .filter(({ length }) => length >= 4)
  secrets.sort((a, b) => b.length - a.length)
  return text => secrets.reduce((left, secret) => left.replaceAll(secret, '••••••'), text)
}

function messageOf(error: unknown): string {
  const { message, cause } = toError(error)
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
