import { HarnessError, type HarnessQuery } from '@chirality/core'
import { CODEX_ID } from '../descriptor.ts'

/**
 * Refuses queries that would silently start a new thread: a fork without a thread, and a name in place of a thread id.
 */
export function checkThread({ resumeSessionId, forkSession, forkAt }: HarnessQuery): void {
  if (forkAt !== undefined && !forkSession)
    throw invalid('forkAt needs forkSession: the thread itself is not cut.')
  if (resumeSessionId === undefined) {
    if (forkSession) throw invalid('forkSession needs resumeSessionId: say which thread to fork.')
    return
  }
  if (!UUID.test(resumeSessionId)) throw invalid(`"${resumeSessionId}" is not the id of a Codex thread.`)
}

/** Codex's messages, on stderr or in an answer, for a thread that does not exist. */
export function isLostThread(said: string): boolean {
  return /no rollout found for (thread|conversation) id|thread not (found|loaded)/i.test(said)
}

/** The same for a thread that another process has loaded; undefined for other errors. */
export function heldThreadAdvice(said: string, threadId: string | undefined): string | undefined {
  if (!/already has an active writer/i.test(said)) return undefined
  return `The Codex thread ${threadId ?? ''} is open in another program. Close it there, or fork it.`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

function invalid(message: string): HarnessError {
  return new HarnessError(message, 'invalid_query', CODEX_ID)
}

/** An option that Codex lacks is refused, never dropped: a limit that does not hold is worse than none. */
export function refuseUnsupported(query: HarnessQuery): void {
  const refused = Object.entries(REFUSALS).find(([field]) => isSet(query[field as keyof HarnessQuery]))
  if (query.thinking === 'ultracode')
    throw new HarnessError('thinking: Codex has no effort ultracode.', 'unsupported', CODEX_ID)
  if (refused) throw new HarnessError(`${refused[0]}: ${refused[1]}`, 'unsupported', CODEX_ID)
}

const NO_NAMED_TOOLS =
  'Codex has no tools that could be allowed or denied by name. Use a permission mode instead.'

const REFUSALS: Partial<Record<keyof HarnessQuery, string>> = {
  tools: NO_NAMED_TOOLS,
  allowedTools: NO_NAMED_TOOLS,
  disallowedTools: NO_NAMED_TOOLS,
  maxTurns: 'Codex counts no rounds. Stop it by time instead.',
  maxBudgetUsd: 'Codex does not know what a turn costs.',
  fallbackModel: 'Codex has no fallback model.',
  continueLast: 'Name the thread with resumeSessionId.',
}

/** `default` is the value that every agent uses anyway. */
function isSet(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  return value !== undefined && value !== null && value !== false && value !== 'default'
}
