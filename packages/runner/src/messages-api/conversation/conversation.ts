import { randomUUID } from 'node:crypto'
import { HarnessError, type HarnessQuery } from '@chirality/core'
import type { Message } from '../api/messages.ts'
import { HARNESS_ID } from '../config.ts'
import { isSessionId, readTranscript, Transcript } from './transcript.ts'

/** The conversation that a turn goes on with. */
export interface Conversation {
  transcript: Transcript
  history: readonly Message[]
  /** What was asked for and is not there any more, or not up to where it was to be cut; this one is new instead. */
  lostId?: string
  /** Lets go of it. */
  close(): void
}

/** Opens, copies or begins one. The folder for logs has to be there. Throws when another turn is in it. */
export async function openConversation(query: HarnessQuery, busy: Set<string>): Promise<Conversation> {
  const { cwd, resumeSessionId, forkSession, forkAt } = query
  const isResumed = resumeSessionId !== undefined && !forkSession
  if (isResumed && busy.has(resumeSessionId)) {
    const message = `The conversation ${resumeSessionId} has a turn running in another session.`
    throw new HarnessError(message, 'busy', HARNESS_ID)
  }
  const history = resumeSessionId === undefined ? [] : await readTranscript(cwd, resumeSessionId, forkAt)
  const transcript =
    isResumed && history !== undefined
      ? await Transcript.open(cwd, resumeSessionId)
      : await Transcript.create(cwd, await freeId(query), history ?? [])
  const id = transcript.nativeSessionId
  busy.add(id)
  const close = () => {
    busy.delete(id)
    transcript.close()
  }
  const lost = history === undefined && resumeSessionId !== undefined ? { lostId: resumeSessionId } : {}
  return { transcript, history: history ?? [], ...lost, close }
}

/** A wish is granted if it can be a file's name and is not one yet. */
async function freeId({ cwd, newSessionId }: HarnessQuery): Promise<string> {
  const isFree = newSessionId && isSessionId(newSessionId) && !(await readTranscript(cwd, newSessionId))
  return isFree ? newSessionId : randomUUID()
}
