import type { HarnessQuery } from '@chirality/core'
import type { AcpAgent } from './acp-agent.ts'

/** Instructions stay in the conversation, so they are sent when they change. */
export function newInstructions(
  { instructions }: AcpAgent,
  { appendSystemPrompt }: HarnessQuery,
): string | undefined {
  return appendSystemPrompt === undefined || appendSystemPrompt === instructions
    ? undefined
    : appendSystemPrompt
}

/** The protocol has no system prompt: instructions are a text of their own in front of the message. */
export function asInstructions(text: string): string {
  return `${BEGIN}${text}${END}`
}

export function isInstructions(text: string): boolean {
  return text.startsWith(BEGIN) && text.endsWith(END)
}

const BEGIN = '<system-instructions>\n'
const END = '\n</system-instructions>'
