import type { HarnessQuery } from '@chirality/core'
import { HarnessError } from '@chirality/core'
import type { AppServer } from './app-server.ts'
import { HARNESS_ID } from './config.ts'
import { RpcError } from './json-rpc.ts'
import type { CodexPermissions } from './permissions.ts'

export interface OpenThreadOptions {
  query: HarnessQuery
  permissions: CodexPermissions
  /** `mcp_servers` and the like, for this thread only. */
  config: Record<string, unknown>
}

export interface OpenThread {
  id: string
  model: string
  /** The thread that was asked for and is not there any more. */
  lostId?: string
}

/** Starts, resumes or forks the thread that the query asks for. One that is gone is replaced by a new one, and told. */
export async function openThread(server: AppServer, options: OpenThreadOptions): Promise<OpenThread> {
  const { resumeSessionId, forkSession } = options.query
  if (resumeSessionId === undefined) return start(server, options)
  // Codex takes anything else for a name, and starts a new thread without a word when there is none.
  if (!UUID.test(resumeSessionId)) {
    throw new HarnessError(
      `"${resumeSessionId}" is not the id of a Codex thread.`,
      'invalid_query',
      HARNESS_ID,
    )
  }
  try {
    if (forkSession) return await fork(server, resumeSessionId, options)
    if (server.loaded.has(resumeSessionId)) return await loadedThread(server, resumeSessionId)
    return remember(
      server,
      await server.request('thread/resume', {
        threadId: resumeSessionId,
        excludeTurns: true,
        ...settings(options),
      }),
    )
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (/no rollout found|not found|no thread/i.test(error.message)) {
      return { ...(await start(server, options)), lostId: resumeSessionId }
    }
    throw refusal(error, resumeSessionId)
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

async function start(server: AppServer, options: OpenThreadOptions): Promise<OpenThread> {
  try {
    return remember(server, await server.request('thread/start', settings(options)))
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    throw new HarnessError(`Codex could not start a thread: ${error.message}`, 'unknown', HARNESS_ID, error)
  }
}

/** A fork falls back to the default model unless it is told its parent's. */
async function fork(server: AppServer, threadId: string, options: OpenThreadOptions): Promise<OpenThread> {
  const parent = await server.request('thread/read', { threadId, includeTurns: false })
  const model = options.query.model ?? modelOf(parent)
  const forked = await server.request('thread/fork', {
    threadId,
    excludeTurns: true,
    ...settings(options),
    model,
  })
  return remember(server, forked)
}

async function loadedThread(server: AppServer, threadId: string): Promise<OpenThread> {
  return {
    id: threadId,
    model: modelOf(await server.request('thread/read', { threadId, includeTurns: false })),
  }
}

/** Always read-only: a wider sandbox here makes Codex mark the folder as trusted in the user's config. Turns widen it. */
function settings({ query, permissions, config }: OpenThreadOptions): Record<string, unknown> {
  return {
    cwd: query.cwd,
    sandbox: 'read-only',
    approvalPolicy: permissions.approval,
    ...(query.model ? { model: query.model } : {}),
    ...(query.systemPrompt ? { baseInstructions: query.systemPrompt } : {}),
    ...(query.appendSystemPrompt ? { developerInstructions: query.appendSystemPrompt } : {}),
    ...(Object.keys(config).length > 0 ? { config } : {}),
  }
}

function remember(server: AppServer, response: Record<string, unknown>): OpenThread {
  const thread = response.thread as { id?: unknown } | undefined
  if (typeof thread?.id !== 'string') {
    throw new HarnessError('Codex opened a thread without an id.', 'unknown', HARNESS_ID)
  }
  server.loaded.add(thread.id)
  return { id: thread.id, model: modelOf(response) }
}

function modelOf(response: Record<string, unknown>): string {
  const thread = response.thread as { model?: unknown } | undefined
  return String(response.model ?? thread?.model ?? 'unknown')
}

function refusal(error: RpcError, threadId: string): HarnessError {
  if (/active writer/i.test(error.message)) {
    const message = `The Codex thread ${threadId} is open in another program. Close it there, or fork it.`
    return new HarnessError(message, 'busy', HARNESS_ID, error)
  }
  return new HarnessError(
    `Codex could not open the thread ${threadId}: ${error.message}`,
    'unknown',
    HARNESS_ID,
    error,
  )
}
