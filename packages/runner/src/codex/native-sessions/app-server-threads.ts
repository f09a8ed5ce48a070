import { rm, stat } from 'node:fs/promises'
import type { NativeSession } from '@chirality/core'
import { asNumber, asObject, asObjects, asText, type JsonObject } from '../../common/json.ts'
import { buildChildEnv } from '../../env/child-env.ts'
import { oneLine } from '../../native-sessions/listing.ts'
import { makeTempFolder } from '../../process/spool/temp-folder.ts'
import { AppServer } from '../app-server/app-server.ts'
import type { CodexContext } from '../config.ts'
import { CODEX_ENVIRONMENT, CODEX_ID } from '../descriptor.ts'
import { findCodex } from '../program/executable.ts'
import { overrideArgs } from '../program/overrides.ts'
import type { ThreadHistory, ThreadTurn } from '../rollouts/thread.ts'

/**
 * Reads threads through an app-server that runs as long as `read`. It follows forks, and knows file formats that this
 * package does not.
 */
async function withAppServer<T>(
  context: CodexContext,
  read: (server: AppServer) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { config, environment } = context
  const command = await findCodex({ binaryPath: config.binaryPath, environment })
  const { env } = buildChildEnv({
    source: environment,
    own: CODEX_ENVIRONMENT,
    allow: config.allowEnvironment,
  })
  // Listing is no turn: its output does not go to the project's logs, and no project configuration is read.
  const folder = await makeTempFolder(environment, CODEX_ID)
  try {
    const args = ['app-server', ...overrideArgs(context)]
    const server = await AppServer.start({ command, args, env, projectRoot: folder, config }, signal)
    const stop = () => server.stop({ interruptGraceMs: 0 })
    signal.addEventListener('abort', stop, { once: true })
    try {
      signal.throwIfAborted()
      return await read(server)
    } finally {
      signal.removeEventListener('abort', stop)
      await stop()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export async function listThreads(
  server: AppServer,
  { cwds, limit }: { cwds: string[] | undefined; limit: number },
): Promise<NativeSession[]> {
  const sessions: NativeSession[] = []
  let cursor: unknown
  do {
    const page = await server.request('thread/list', {
      ...EVERY_KIND,
      sortKey: 'updated_at',
      limit: Math.min(limit - sessions.length, PAGE_SIZE),
      ...(cwds ? { cwd: cwds } : {}),
      ...(cursor ? { cursor } : {}),
    })
    const threads = asObjects(page.data)
    sessions.push(...(await Promise.all(threads.map(describe))).flat())
    cursor = threads.length > 0 ? page.nextCursor : undefined
  } while (cursor && sessions.length < limit)
  return sessions.slice(0, limit)
}

export async function readThread(server: AppServer, threadId: string): Promise<ThreadHistory> {
  const { thread } = await server.request('thread/read', { threadId, includeTurns: false })
  const facts = asObject(thread)
  const turns: ThreadTurn[] = []
  let cursor: unknown
  do {
    const page = await server.request('thread/turns/list', {
      threadId,
      limit: PAGE_SIZE,
      sortDirection: 'asc',
      itemsView: 'full',
      ...(cursor ? { cursor } : {}),
    })
    const data = asObjects(page.data)
    turns.push(...data.map(readTurn))
    cursor = data.length > 0 && turns.length < MAX_TURNS ? page.nextCursor : undefined
  } while (cursor)
  return {
    id: threadId,
    cwd: asText(facts.cwd) ?? '',
    model: asText(facts.model),
    version: asText(facts.cliVersion),
    createdAt: timeOf(facts.createdAt),
    updatedAt: timeOf(facts.updatedAt),
    turns,
    missing: 0,
  }
}

/** Without these filters it omits threads of `exec` and of other providers' models; sub-agents are left out. */
const EVERY_KIND = { sourceKinds: ['cli', 'vscode', 'exec', 'appServer'], modelProviders: [] }
const PAGE_SIZE = 50
const MAX_TURNS = 10_000

async function describe(thread: JsonObject): Promise<NativeSession[]> {
  const nativeSessionId = asText(thread.id)
  const cwd = asText(thread.cwd)
  if (nativeSessionId === undefined || cwd === undefined) return []
  const file = asText(thread.path)
  const info = file === undefined ? null : await stat(file).catch(() => null)
  const createdAt = timeOf(thread.createdAt)
  return [
    {
      harness: 'codex',
      nativeSessionId,
      cwd,
      title: oneLine(asText(thread.name) ?? asText(thread.preview) ?? nativeSessionId),
      ...(createdAt ? { createdAt } : {}),
      updatedAt: timeOf(thread.updatedAt) ?? createdAt ?? new Date(0).toISOString(),
      ...(info ? { sizeBytes: info.size } : {}),
    },
  ]
}

function readTurn(turn: JsonObject): ThreadTurn {
  return {
    id: String(turn.id),
    status: asText(turn.status) ?? 'completed',
    error: turn.error,
    durationMs: asNumber(turn.durationMs),
    items: asObjects(turn.items),
  }
}

function timeOf(seconds: unknown): string | undefined {
  const value = asNumber(seconds)
  return value === undefined ? undefined : new Date(value * 1000).toISOString()
}

export interface TwoWays<T> {
  ask: (server: AppServer) => Promise<T>
  read: () => Promise<T>
  /** Ends the app-server. */
  signal: AbortSignal
}

/** Asks the app-server; if there is none, or it does not answer, reads the files. */
export async function askOrRead<T>(context: CodexContext, { ask, read, signal }: TwoWays<T>): Promise<T> {
  const { config } = context
  if (config.voice === 'exec') return read()
  try {
    return await withAppServer(context, ask, signal)
  } catch (error) {
    signal.throwIfAborted()
    config.onLog?.({ level: 'warn', event: 'native-sessions:files', data: { error: String(error) } })
    return read()
  }
}
