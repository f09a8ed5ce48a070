import {
  factsOf,
  type PermissionRequestEvent,
  type Question,
  riskTitle,
  type ToolFacts,
} from '@chirality/core'
import { own } from '../ui/own.ts'

/** Title of a request in plain words. */
export function decisionTitle(request: PermissionRequestEvent): string {
  switch (request.kind) {
    case 'plan':
      return 'Is this plan right?'
    case 'question':
      return 'The agent has a question'
    case 'unknown':
      return `The agent asks something new: ${request.toolName}`
    case 'tool':
      return toolTitle(factsOf(request))
  }
}

function toolTitle({ kind, label, object, edits }: ToolFacts): string {
  if (edits !== undefined) return edits.length > 1 ? 'Change these files?' : 'Change this file?'
  if (kind === 'execute') return 'Run this command?'
  return kind === 'fetch' && URL.canParse(object) ? 'Open this address?' : `Use ${label}?`
}

/** One line for a list: `wants to run npm test`. */
export function decisionLine(request: PermissionRequestEvent, argument: string): string {
  const { risks = [] } = request
  if (risks.length > 0) return riskTitle(risks).replace(/^This can /, 'asks for what can ')
  switch (request.kind) {
    case 'plan':
      return 'plan is ready to review'
    case 'question':
      return factsOf(request).questions?.[0]?.name ?? 'has a question'
    case 'unknown':
      return `asks ${request.toolName}`
    case 'tool':
      if (factsOf(request).kind === 'execute') return `wants to run ${argument}`
      return `wants to use ${request.toolName}${argument ? `: ${argument}` : ''}`
  }
}

/** Several choices are one text, as agents expect it. Undefined until every question has an answer. */
export function collectAnswers(
  questions: readonly Question[],
  given: Readonly<Record<string, { chosen: readonly string[]; other: string }>>,
): Record<string, string> | undefined {
  const answers: Record<string, string> = {}
  for (const { name } of questions) {
    const { chosen = [], other = '' } = own(given, name) ?? {}
    const texts = other.trim() === '' ? chosen : [...chosen, other.trim()]
    if (texts.length === 0) return undefined
    answers[name] = texts.join(', ')
  }
  return answers
}

/** JSON that a person edited. A message instead of a value when it cannot be an input. */
export function parseInput(text: string): { input: Record<string, unknown> } | { problem: string } {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? { input: value } : { problem: 'The input must be a JSON object.' }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : 'This is not valid JSON.' }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
