import { HarnessError } from '@chirality/core'
import { RpcError } from '../../process/json-rpc.ts'
import { traceProcess } from '../../process/traced-process.ts'
import type { AgentLease } from '../../turn/kept-agents.ts'
import { RpcTurn, type RpcTurnOptions } from '../../turn/rpc-turn.ts'
import { withAccount } from '../../turn/turn-query.ts'
import type { AppServer } from '../app-server/app-server.ts'
import type { ThreadFeed } from '../app-server/thread-feed.ts'
import { CODEX } from '../config.ts'
import { CODEX_ID } from '../descriptor.ts'
import type { CodexInput } from '../options/input.ts'
import { type OpenThread, openThread } from './open-thread.ts'
import { ThreadDialogue, type ThreadDialogueOptions } from './thread-dialogue.ts'
import type { ThreadTurnFacts } from './thread-view.ts'

export interface AppServerTurnOptions
  extends Omit<ThreadDialogueOptions, 'server' | 'thread' | 'feed' | 'facts'>,
    Omit<RpcTurnOptions, 'agent'> {
  lease: AgentLease<AppServer>
  /** Configuration of the thread, such as `mcp_servers`. */
  threadConfig: Record<string, unknown>
}

/** Opens the thread of a session on an app-server for one turn. Null if the turn was stopped meanwhile. */
export async function openThreadTurn(
  options: AppServerTurnOptions,
): Promise<{ turn: RpcTurn; threadId: string } | null> {
  const { query, lease, permissions, threadConfig: config, parts } = options
  const { stop, record } = parts
  let thread: OpenThread
  try {
    thread = await openThread(lease.agent, { query, permissions, config, signal: stop.signal })
  } catch (error) {
    // The server may never answer, so the next turn must not wait for it again.
    if (isUnanswered(error) && lease.holders() === 1) await lease.agent.stop({ interruptGraceMs: 0 })
    if (stop.reason) return null
    throw error
  }
  const feed = lease.agent.news.listen(thread.id)
  if (!feed) {
    const message = `The Codex thread ${query.resumeSessionId} has a turn running in another session.`
    throw new HarnessError(message, 'busy', CODEX_ID)
  }
  const facts = factsOf(thread, feed, options)
  // Recorded before the turn is started, so that a restarted server can find the turn.
  const { process } = lease.agent
  record.begin(process.spoolPath, facts)
  if (record.isKept) {
    const { from, unheard, children } = feed.place
    const traced = await traceProcess(process, Math.min(from, ...unheard))
    record.tell({ ...traced, nativeSessionIds: [thread.id, ...children] })
  }
  const input = inputFor(thread, options)
  const dialogue = new ThreadDialogue({ ...options, server: lease.agent, input, thread, feed, facts })
  return { turn: new RpcTurn(dialogue, { ...options, agent: CODEX }), threadId: thread.id }
}

/** A new thread gets a transcript of the one that no longer exists. */
function inputFor({ lostId }: OpenThread, { input, query }: AppServerTurnOptions): CodexInput {
  if (lostId === undefined || query.account === undefined) return input
  return { ...input, text: withAccount(query.account, input.text) }
}

function factsOf(
  { id: threadId, model, lostId }: OpenThread,
  { place: news }: ThreadFeed,
  { lease, query }: AppServerTurnOptions,
): ThreadTurnFacts {
  return {
    threadId,
    model,
    cwd: query.cwd,
    version: lease.agent.version ?? undefined,
    permissionMode: query.permissionMode,
    lostId,
    expectsJson: query.outputSchema !== undefined,
    partialMessages: query.includePartialMessages,
    news,
  }
}

/** An error from Codex would have a code. */
function isUnanswered(error: unknown): boolean {
  const { cause } = error instanceof HarnessError ? error : { cause: error }
  return cause instanceof RpcError && cause.code === null
}
