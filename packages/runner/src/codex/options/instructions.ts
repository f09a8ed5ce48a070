import { asObject, asObjects, asText, type JsonObject } from '../../common/json.ts'
import { readThreadLines } from '../rollouts/rollout-threads.ts'

/** Marks instructions inside the conversation, so that they can be found there again. */
export function asCodexInstructions(text: string): string {
  return `${OPENING}${text}${CLOSING}`
}

/** Puts instructions in front of a message, for a Codex that accepts them in no other way. */
export function withInstructions(text: string, prompt: string): string {
  return `${asCodexInstructions(text)}\n\n${prompt}`
}

/** The text that the user typed, without instructions in front of it. */
export function withoutInstructions(message: string): string {
  const end = message.startsWith(OPENING) ? message.indexOf(CLOSING) : -1
  return end === -1 ? message : message.slice(end + CLOSING.length).trimStart()
}

const OPENING = '<system-instructions>\n'
const CLOSING = '\n</system-instructions>'

/**
 * Whether these are the last instructions that the thread was given, by its own file: it counts for every process, and
 * does not depend on Chirality's files. False if the file cannot be read: sending them twice is better than never.
 */
export async function areInstructionsTold(
  text: string,
  { threadId, environment }: { threadId: string; environment: Record<string, string> },
): Promise<boolean> {
  try {
    const { lines } = await readThreadLines(environment, threadId, mayInstruct)
    return hasLast(lines, text)
  } catch {
    return false
  }
}

function mayInstruct({ type, payload }: JsonObject): boolean {
  if (type === 'session_meta' || type === 'compacted') return true
  return type === 'response_item' && isMessage(asObject(payload))
}

function isMessage({ type, role }: JsonObject): boolean {
  return type === 'message' && (role === 'developer' || role === 'user')
}

function hasLast(lines: readonly JsonObject[], text: string): boolean {
  for (const { type, payload } of lines.toReversed()) {
    // After a compaction only the summary is left of the conversation.
    if (type === 'compacted')
      return lastIn(asObjects(asObject(payload).replacement_history), text) === 'these'
    const said = type === 'response_item' ? lastIn([asObject(payload)], text) : 'nothing'
    if (said !== 'nothing') return said === 'these'
  }
  return false
}

function lastIn(messages: readonly JsonObject[], text: string): 'these' | 'others' | 'nothing' {
  for (const message of messages.filter(isMessage).toReversed()) {
    const parts = asObjects(message.content).flatMap(part => asText(part.text) ?? [])
    if (parts.some(part => part.startsWith(asCodexInstructions(text)))) return 'these'
    // The instructions that a thread began with have no mark; they stand among Codex's own.
    if (message.role === 'developer' && parts.includes(text)) return 'these'
    if (parts.some(part => part.startsWith(OPENING))) return 'others'
  }
  return 'nothing'
}
