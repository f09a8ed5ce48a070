import { randomUUID } from 'node:crypto'
import type { ImportedSession } from '@chirality/core'
import { requireNativeId, sessionNotFound } from '../../native-sessions/native-id.ts'
import type { CodexContext } from '../config.ts'
import { readRollout } from '../rollouts/rollout-threads.ts'
import type { ThreadHistory } from '../rollouts/thread.ts'
import { readThread } from './app-server-threads.ts'
import { askOrRead } from './ask-or-read.ts'
import { codexHistory } from './history.ts'
import { withToolCalls } from './tool-calls.ts'

/** A thread of Codex as a session. Opens nothing: a thread that another program holds can be read all the same. */
export async function importCodexSession(given: string, context: CodexContext): Promise<ImportedSession> {
  const nativeSessionId = requireNativeId(given, HARNESS_ID)
  const read = () => readRollout(context.environment, nativeSessionId)
  const thread = await askOrRead<ThreadHistory | undefined>(context, {
    ask: async server => withToolCalls(await readThread(server, nativeSessionId), read),
    read,
  })
  if (!thread || thread.cwd === '') throw sessionNotFound(nativeSessionId, HARNESS_ID)
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

const HARNESS_ID = 'codex'
