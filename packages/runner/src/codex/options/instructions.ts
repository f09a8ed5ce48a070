import { asObject, asObjects, asText, type JsonObject } from '../../common/json.ts'
import { readThreadLines } from '../rollouts/rollout-threads.ts'

/** Marks instructions that stand in the conversation, so that they are found there again. */
export function asInstructions(text: string): string {
  return `${OPENING}${text}${CLOSING}`
}

/** In front of a message, where Codex takes them in no other way. */
export function withInstructions(text: string, prompt: string): string {
  return `${asInstructions(text)}\n\n${prompt}`
}

/** What a person typed of a message that may begin with instructions. */
export function withoutInstructions(message: string): string {
  const end = message.startsWith(OPENING) ? message.indexOf(CLOSING) : -1
  return end === -1 ? message : message.slice(end + CLOSING.length).trimStart()
}

const OPENING = '<system-instructions>\n'
const CLOSING = '\n</system-instructions>'

/**
 * Whether these are the last instructions that the thread was given, as its own file has it: whichever process gave
 * them, and whatever became of our own files. False where the file cannot be read: twice is better than never.
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
    // From here on the conversation is what the summary kept of it.
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
    if (parts.some(part => part.startsWith(asInstructions(text)))) return 'these'
    // Those that a thread began with stand without a mark among Codex's own.
    if (message.role === 'developer' && parts.includes(text)) return 'these'
    if (parts.some(part => part.startsWith(OPENING))) return 'others'
  }
  return 'nothing'
}
