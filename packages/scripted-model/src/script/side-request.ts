/**
 * Requests that Claude Code makes beside the conversation. They come when the CLI likes, so they
 * must not take the answers meant for the conversation.
 */
export const SIDE_KINDS = ['title', 'suggestion', 'tool-summary', 'compaction'] as const

export type SideKind = (typeof SIDE_KINDS)[number]

export interface SideHints {
  tools: readonly string[]
  system: string
  firstUser: string
  /** All text of the last user message, beside tool results too. */
  lastText: string
}

export function sideKindOf({ tools, system, firstUser, lastText }: SideHints): SideKind | undefined {
  if (lastText.includes('[SUGGESTION MODE:')) return 'suggestion'
  if (lastText.includes('an <analysis> block followed by a <summary> block')) return 'compaction'
  if (tools.length > 0) return undefined
  if (firstUser.startsWith('<session>')) return 'title'
  return system.includes('summary label describing what these tool calls') ? 'tool-summary' : undefined
}

/** Replies to side requests that no route answers, in the shape that the CLI accepts. */
export const SIDE_ANSWERS: Record<SideKind, string> = {
  title: '{"title":"Scripted session"}',
  suggestion: 'go on',
  'tool-summary': 'Used the tools',
  compaction: '<analysis>Scripted.</analysis>\n<summary>A scripted summary of the conversation.</summary>',
}
