import type { ListNativeSessionsOptions, NativeSession } from '@chirality/core'
import { DEFAULT_LIMIT } from '../../native-sessions/default-limit.ts'
import { sameFolder } from '../../native-sessions/same-folder.ts'
import type { CodexContext } from '../config.ts'
import { listRollouts } from '../rollouts/rollout-threads.ts'
import { listThreads } from './app-server-threads.ts'
import { askOrRead } from './ask-or-read.ts'

/** The threads of Codex, newest first. */
export async function listCodexSessions(
  options: ListNativeSessionsOptions,
  context: CodexContext,
): Promise<NativeSession[]> {
  const { cwd, limit = DEFAULT_LIMIT } = options
  const wanted = { limit, cwds: cwd === undefined ? undefined : await sameFolder(cwd) }
  return askOrRead(context, {
    ask: server => listThreads(server, wanted),
    read: () => listRollouts(context.environment, wanted),
  })
}
