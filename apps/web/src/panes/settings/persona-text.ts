import { permissionLabel } from '@chirality/core'
import type { PersonaDraft } from '../../state/server/answers.ts'

type Persona = NonNullable<PersonaDraft['persona']>

/** First text of a new persona's file. */
export const TEMPLATE = `---
description: What it is for
# tools: Read, Grep, Glob
# disallowed_tools: Write, Edit
# auto_approve_tools: ["Bash(npm test *)"]
# budget_usd: 2
---
Say here what the agent is told.
`

export function isPersonaId(id: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(id)
}

/** A text field knows only `\n`. A file that ends its lines with `\r\n` keeps them. */
export function sameLineEnds(text: string, like: string): string {
  const lines = text.replace(/\r\n/g, '\n')
  return /(?:^|[^\r])\n/.test(like) || !like.includes('\r\n') ? lines : lines.replace(/\n/g, '\r\n')
}

/** From where to where a line is, counted from 1. */
export function linePlace(text: string, line: number): [start: number, end: number] {
  const lines = text.split('\n')
  const before = lines.slice(0, line - 1)
  const start = before.reduce((sum, each) => sum + each.length + 1, 0)
  return [Math.min(start, text.length), Math.min(start + (lines[line - 1]?.length ?? 0), text.length)]
}

/** Settings of a persona, each in words. */
export function personaWords(persona: Persona): { what: string; words: string }[] {
  const { allowedTools, disallowedTools = [], autoApproveTools = [], permissionMode, policy = [] } = persona
  const { harness, nextHarnesses = [], model, maxTurns, budgetUsd, budgetTokens, budgetMinutes } = persona
  const limits = [
    maxTurns === undefined ? [] : `${maxTurns} steps a turn`,
    budgetUsd === undefined ? [] : `$${budgetUsd} a session`,
    budgetTokens === undefined ? [] : `${budgetTokens} tokens a session`,
    budgetMinutes === undefined ? [] : `${budgetMinutes} minutes a session`,
  ].flat()
  return [
    { what: 'Tools', words: toolWords(allowedTools) },
    { what: 'Never', words: disallowedTools.join(', ') },
    { what: 'Without asking, once you allow it', words: autoApproveTools.join(', ') },
    { what: 'Permissions', words: permissionMode === undefined ? '' : permissionLabel(permissionMode) },
    { what: 'Rules', words: policy.map(({ text }) => text).join('; ') },
    { what: 'Agent', words: [harness, model].filter(Boolean).join(' · ') },
    { what: 'Then, in a loop that may hand over', words: nextHarnesses.join(', ') },
    { what: 'Limits', words: limits.join(', ') },
  ].filter(({ words }) => words !== '')
}

function toolWords(tools: string[] | undefined): string {
  if (tools === undefined) return 'the usual ones of the agent'
  return tools.length === 0 ? 'none' : tools.join(', ')
}
