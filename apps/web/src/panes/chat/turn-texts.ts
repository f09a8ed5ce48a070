import type { SessionItem } from '@chirality/core'

/** What was asked in a turn, and all that the agent itself answered. */
export function turnTexts(
  items: readonly SessionItem[],
  turnId: string | null,
): { message: string; answer: string } {
  const own = items.filter(item => item.turnId === turnId && item.parentToolUseId === undefined)
  const message = own.flatMap(item => (item.kind === 'user' ? [item.text] : [])).join('\n\n')
  const answer = own.flatMap(item => (item.kind === 'text' ? [item.text] : [])).join('\n\n')
  return { message, answer }
}
