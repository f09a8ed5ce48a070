import type { PermissionRequestEvent } from '@chirality/core'
import { own } from '../../ui/own.ts'

export interface Question {
  /** How the answer is filed: the question's own words, which every agent knows it by. */
  name: string
  header: string | null
  options: readonly QuestionOption[]
  multiSelect: boolean
}

export interface QuestionOption {
  label: string
  description: string | null
}

/** What is asked, in the words of a person. */
export function decisionTitle({ kind, toolName, input }: PermissionRequestEvent, toolLabel: string): string {
  switch (kind) {
    case 'plan':
      return 'Is this plan right?'
    case 'question':
      return 'The agent has a question'
    case 'unknown':
      return `The agent asks something new: ${toolName}`
    case 'tool':
      if (typeof input.command === 'string') return 'Run this command?'
      if (typeof input.url === 'string') return 'Open this address?'
      return `Use ${toolLabel}?`
  }
}

/** One line for a list: `wants to run npm test`. */
export function decisionLine(request: PermissionRequestEvent, argument: string): string {
  switch (request.kind) {
    case 'plan':
      return 'plan is ready to review'
    case 'question':
      return readQuestions(request.input)[0]?.name ?? 'has a question'
    case 'unknown':
      return `asks ${request.toolName}`
    case 'tool':
      if (typeof request.input.command === 'string') return `wants to run ${argument}`
      return `wants to use ${request.toolName}${argument ? `: ${argument}` : ''}`
  }
}

export function readQuestions(input: Record<string, unknown>): Question[] {
  if (!Array.isArray(input.questions)) return []
  return input.questions.flatMap((entry: unknown): Question[] => {
    if (!isObject(entry) || typeof entry.question !== 'string') return []
    const options = Array.isArray(entry.options) ? entry.options.flatMap(readOption) : []
    const header = typeof entry.header === 'string' ? entry.header : null
    return [{ name: entry.question, header, options, multiSelect: entry.multiSelect === true }]
  })
}

function readOption(option: unknown): QuestionOption[] {
  if (typeof option === 'string') return [{ label: option, description: null }]
  if (!isObject(option) || typeof option.label !== 'string') return []
  return [
    { label: option.label, description: typeof option.description === 'string' ? option.description : null },
  ]
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
