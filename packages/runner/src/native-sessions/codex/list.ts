import type { ListNativeSessionsOptions, NativeSession } from '@chirality/core'
import type { CodexContext } from '../../codex/config.ts'
import { DEFAULT_LIMIT } from '../default-limit.ts'
import { sameFolder } from '../same-folder.ts'
import { listThreads } from './app-server-threads.ts'
import { askOrRead } from './ask-or-read.ts'
import { listRollouts } from './rollout-threads.ts'

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
