import { HarnessError, type HarnessQuery } from '@chirality/core'
import { asObject, asObjects, asText } from '../../common/json.ts'
import { RpcError } from '../../process/json-rpc.ts'
import type { AppServer } from '../app-server/app-server.ts'
import { CODEX_ID } from '../descriptor.ts'
import { heldThreadAdvice, isLostThread } from '../options/check-query.ts'
import { areInstructionsTold, asCodexInstructions } from '../options/instructions.ts'
import type { CodexPermissions } from '../options/permissions.ts'

export interface OpenThreadOptions {
  /** Its thread id is already checked. */
  query: HarnessQuery
  permissions: CodexPermissions
  /** Configuration of this thread only, such as `mcp_servers`. */
  config: Record<string, unknown>
  /** Aborted when the turn no longer waits for it. */
  signal: AbortSignal
}

export interface OpenThread {
  id: string
  model: string
  /** The id of the requested thread that no longer exists. */
  lostId?: string
  /** Instructions to send with the message, because this Codex accepts them in no other way. */
  instructions?: string
}

/**
 * Starts, resumes or forks the thread of the query. A thread that no longer exists is replaced by a new one, and
 * `lostId` names it.
 */
export async function openThread(server: AppServer, options: OpenThreadOptions): Promise<OpenThread> {
  const thread = await open(server, options)
  const { resumeSessionId, appendSystemPrompt: text = '' } = options.query
  const isNew = resumeSessionId === undefined || thread.lostId !== undefined
  if (isNew || text === '') return told(server, thread, text)
  if (server.instructions.get(thread.id) === text) return thread
  const { environment } = server
  if (await areInstructionsTold(text, { threadId: thread.id, environment })) return told(server, thread, text)
  const isInjected = await inject(server, { threadId: thread.id, text, signal: options.signal })
  return isInjected ? told(server, thread, text) : { ...thread, instructions: text }
}

function told(server: AppServer, thread: OpenThread, instructions: string): OpenThread {
  server.instructions.set(thread.id, instructions)
  return thread
}

/**
 * Codex reads instructions only when a thread begins. Later ones are added to the conversation. False if that is not
 * possible.
 */
async function inject(
  server: AppServer,
  { threadId, text, signal }: { threadId: string; text: string; signal: AbortSignal },
): Promise<boolean> {
  const content = [{ type: 'input_text', text: asCodexInstructions(text) }]
  try {
    await server.request(
      INJECT,
      { threadId, items: [{ type: 'message', role: 'developer', content }] },
      signal,
    )
    return true
  } catch (error) {
    if (server.features.refuses(INJECT, error)) return false
    throw error instanceof RpcError ? refusal(error, threadId) : error
  }
}

const INJECT = 'thread/inject_items'

async function open(server: AppServer, options: OpenThreadOptions): Promise<OpenThread> {
  const { resumeSessionId, forkSession, model } = options.query
  if (resumeSessionId === undefined) return start(server, options)
  try {
    if (forkSession) return (await fork(server, resumeSessionId, options)) ?? (await lost(server, options))
    const loadedModel = server.loaded.get(resumeSessionId)
    if (loadedModel !== undefined) return { id: resumeSessionId, model: model ?? loadedModel }
    return await resume(server, resumeSessionId, options)
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (isLostThread(error.message)) return lost(server, options)
    throw refusal(error, resumeSessionId)
  }
}

async function lost(server: AppServer, options: OpenThreadOptions): Promise<OpenThread> {
  return { ...(await start(server, options)), lostId: options.query.resumeSessionId }
}

async function start(server: AppServer, options: OpenThreadOptions): Promise<OpenThread> {
  try {
    return remember(server, await server.request('thread/start', settings(options), options.signal))
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    throw new HarnessError(`Codex could not start a thread: ${error.message}`, 'unknown', CODEX_ID, error)
  }
}

async function resume(server: AppServer, threadId: string, options: OpenThreadOptions): Promise<OpenThread> {
  const params = { threadId, excludeTurns: true, ...settings(options) }
  return remember(server, await server.request('thread/resume', params, options.signal))
}

/** A fork uses the default model unless its parent's is passed. Undefined if it cannot be cut at the requested turn. */
async function fork(
  server: AppServer,
  threadId: string,
  options: OpenThreadOptions,
): Promise<OpenThread | undefined> {
  const parent = await server.request('thread/read', { threadId, includeTurns: false }, options.signal)
  const model = options.query.model ?? modelOf(parent)
  const params = { threadId, excludeTurns: true, ...settings(options), ...(model ? { model } : {}) }
  const { forkAt } = options.query
  if (forkAt === undefined)
    return remember(server, await server.request('thread/fork', params, options.signal))
  return forkAtTurn(server, { ...params, excludeTurns: false, lastTurnId: forkAt }, options.signal)
}

/**
 * An old Codex ignores `lastTurnId` and forks the whole thread, so the fork's turns are checked, and rolled back if
 * needed.
 */
async function forkAtTurn(
  server: AppServer,
  params: Record<string, unknown> & { lastTurnId: string },
  signal: AbortSignal,
): Promise<OpenThread | undefined> {
  let forked: Record<string, unknown>
  try {
    forked = await server.request('thread/fork', params, signal)
  } catch (error) {
    if (error instanceof RpcError && /turn not found|lastTurnId .* not found/i.test(error.message))
      return undefined
    throw error
  }
  const thread = remember(server, forked)
  const turns = turnIds(forked)
  const later = turns.length - 1 - turns.indexOf(params.lastTurnId)
  if (later === 0) return thread
  if (
    later < turns.length &&
    (await rollBack(server, { threadId: thread.id, numTurns: later }, signal)) === params.lastTurnId
  )
    return thread
  // The fork contains turns that it must not have, so it is removed from the list of conversations.
  server.loaded.delete(thread.id)
  await server.request('thread/archive', { threadId: thread.id }, signal).catch(() => {})
  return undefined
}

/** The last turn after the cut; undefined if the cut is not possible. */
async function rollBack(
  server: AppServer,
  params: { threadId: string; numTurns: number },
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!server.features.mayHave(ROLLBACK)) return undefined
  try {
    return turnIds(await server.request(ROLLBACK, params, signal)).at(-1)
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    server.features.refuses(ROLLBACK, error)
    return undefined
  }
}

const ROLLBACK = 'thread/rollback'

function turnIds(response: Record<string, unknown>): (string | undefined)[] {
  return asObjects(asObject(response.thread).turns).map(({ id }) => asText(id))
}

/**
 * Always read-only: a wider sandbox here makes Codex mark the folder as trusted in the user's config. Each turn widens
 * it.
 */
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
    throw new HarnessError('Codex opened a thread without an id.', 'unknown', CODEX_ID)
  }
  const model = modelOf(response) ?? 'unknown'
  server.loaded.set(thread.id, model)
  return { id: thread.id, model }
}

function modelOf(response: Record<string, unknown>): string | undefined {
  const thread = response.thread as { model?: unknown } | undefined
  const model = response.model ?? thread?.model
  return typeof model === 'string' ? model : undefined
}

function refusal(error: RpcError, threadId: string): HarnessError {
  const advice = heldThreadAdvice(error.message, threadId)
  if (advice) return new HarnessError(advice, 'busy', CODEX_ID, error)
  const message = `Codex could not open the thread ${threadId}: ${error.message}`
  return new HarnessError(message, 'unknown', CODEX_ID, error)
}
