import { platform } from 'node:os'
import type { HarnessQuery } from '@chirality/core'

/** What the agent is told about itself. A given prompt replaces ours, an appended one follows. */
export function systemPrompt(
  { systemPrompt, appendSystemPrompt, cwd }: HarnessQuery,
  toolNames: string[],
): string {
  return [systemPrompt ?? ownPrompt(cwd, toolNames), appendSystemPrompt].filter(Boolean).join('\n\n')
}

function ownPrompt(cwd: string, toolNames: string[]): string {
  const lines = [
    'You are a coding agent. You work in one project folder, for a person who reads what you write.',
    'Look before you change something, change no more than was asked for, and check that it works.',
    'When something fails or is not allowed, say so and do not pretend. Answer briefly.',
    '',
    `Project folder: ${cwd}`,
    `Operating system: ${platform()}`,
  ]
  if (toolNames.length > 0)
    lines.push(`Tools: ${toolNames.join(', ')}. Paths may be relative to the project folder.`)
  return lines.join('\n')
}
