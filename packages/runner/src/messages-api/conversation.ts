import { randomUUID } from 'node:crypto'
import type { HarnessQuery } from '@chirality/core'
import type { Message } from './api/messages.ts'
import { isSessionId, readTranscript, Transcript } from './transcript.ts'

/** The conversation that a turn goes on with. */
export interface Conversation {
  transcript: Transcript
  history: readonly Message[]
  /** What was asked for and is not there any more; this one is new instead. */
  lostId?: string
}

/** Opens, copies or begins one. The folder for logs has to be there. */
export async function openConversation(query: HarnessQuery): Promise<Conversation> {
  const { cwd, resumeSessionId, forkSession } = query
  if (resumeSessionId === undefined) return begin(query, [])
  const history = await readTranscript(cwd, resumeSessionId)
  if (history === undefined) return { ...(await begin(query, [])), lostId: resumeSessionId }
  if (forkSession) return begin(query, history)
  return { transcript: Transcript.open(cwd, resumeSessionId), history }
}

async function begin(
  { cwd, newSessionId }: HarnessQuery,
  history: readonly Message[],
): Promise<Conversation> {
  const isFree = newSessionId && isSessionId(newSessionId) && !(await readTranscript(cwd, newSessionId))
  const id = isFree ? newSessionId : randomUUID()
  return { transcript: await Transcript.create(cwd, id, history), history }
}
