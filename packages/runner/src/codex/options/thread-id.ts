import { HarnessError, type HarnessQuery } from '@chirality/core'
import { HARNESS_ID } from '../config.ts'

/** Refuses what would silently become a new thread: a fork of nothing, and a name, which Codex invents if it must. */
export function checkThread({ resumeSessionId, forkSession, forkAt }: HarnessQuery): void {
  if (forkAt !== undefined && !forkSession)
    throw invalid('forkAt needs forkSession: the thread itself is not cut.')
  if (resumeSessionId === undefined) {
    if (forkSession) throw invalid('forkSession needs resumeSessionId: say which thread to fork.')
    return
  }
  if (!UUID.test(resumeSessionId)) throw invalid(`"${resumeSessionId}" is not the id of a Codex thread.`)
}

/** Codex's own words, on stderr or in an answer, for a thread that it does not have. */
export function isLostThread(said: string): boolean {
  return /no rollout found for (thread|conversation) id|thread not (found|loaded)/i.test(said)
}

/** The same for a thread that another process has open; undefined when it is something else. */
export function heldThreadAdvice(said: string, threadId: string | undefined): string | undefined {
  if (!/already has an active writer/i.test(said)) return undefined
  return `The Codex thread ${threadId ?? ''} is open in another program. Close it there, or fork it.`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

function invalid(message: string): HarnessError {
  return new HarnessError(message, 'invalid_query', HARNESS_ID)
}
