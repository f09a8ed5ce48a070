import { randomUUID } from 'node:crypto'
import type { ImportedSession, ListNativeSessionsOptions, NativeSession } from '@chirality/core'
import { DEFAULT_LIMIT, requireNativeId, sameFolder, sessionNotFound } from '../../native-sessions/listing.ts'
import type { CodexContext } from '../config.ts'
import { CODEX_ID } from '../descriptor.ts'
import { listRollouts, readRollout } from '../rollouts/rollout-threads.ts'
import type { ThreadHistory } from '../rollouts/thread.ts'
import { askOrRead, listThreads, readThread } from './app-server-threads.ts'
import { codexHistory, withToolCalls } from './history.ts'

/**
 * Imports a thread of Codex as a session. It does not load the thread, so one that another program has loaded can be
 * read too.
 */
export async function importCodexSession(
  given: string,
  context: CodexContext,
  signal: AbortSignal,
): Promise<ImportedSession> {
  const nativeSessionId = requireNativeId(given, CODEX_ID)
  const read = () => readRollout(context.environment, nativeSessionId)
  const thread = await askOrRead<ThreadHistory | undefined>(context, {
    ask: async server => withToolCalls(await readThread(server, nativeSessionId), read),
    read,
    signal,
  })
  if (!thread || thread.cwd === '') throw sessionNotFound(nativeSessionId, CODEX_ID)
  const id = randomUUID()
  const { envelopes } = codexHistory(thread, id)
  const now = new Date().toISOString()
  return {
    session: {
      id,
      createdAt: thread.createdAt ?? now,
      updatedAt: thread.updatedAt ?? now,
      projectRoot: thread.cwd,
      persona: null,
      mode: 'direct',
      claudeSessionId: nativeSessionId,
    },
    envelopes,
  }
}

/** The threads of Codex, newest first. */
export async function listCodexSessions(
  options: ListNativeSessionsOptions,
  context: CodexContext,
  signal: AbortSignal,
): Promise<NativeSession[]> {
  const { cwd, limit = DEFAULT_LIMIT } = options
  const wanted = { limit, cwds: cwd === undefined ? undefined : await sameFolder(cwd) }
  return askOrRead(context, {
    ask: server => listThreads(server, wanted),
    read: () => listRollouts(context.environment, wanted),
    signal,
  })
}
