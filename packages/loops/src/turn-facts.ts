import { factsOf, type PermissionRequestEvent, type UIEvent } from '@chirality/core'
import type { LiveSession } from '@chirality/sessions'
import type { JournalEntry, ParkKind, Spending } from './journal.ts'
import type { TaskState } from './loop-state.ts'
import { addSpent } from './spent.ts'

/** Events of a session after a number. */
export function eventsAfter({ log }: LiveSession, seq: number): UIEvent[] {
  return log.readAfter(seq, log.lastSeq, { maxBytes: MAX_READ_BYTES }).map(({ event }) => event)
}

const MAX_READ_BYTES = 32 * 1024 * 1024

/** The last message of the agent itself. */
export function lastText(live: LiveSession, fromSeq: number): string {
  const said = eventsAfter(live, fromSeq).findLast(
    event => event.type === 'chat:message' && event.parentToolUseId === undefined && !event.discarded,
  )
  return said?.type === 'chat:message' ? said.text : ''
}

/** The last line, if it asks a question. */
export function questionIn(text: string): string | undefined {
  const line = text.trim().split('\n').at(-1)?.trim() ?? ''
  return /\?["'”’)*_]*$/.test(line) ? line.slice(0, 1000) : undefined
}

export function requestWords({ kind, toolName, input }: PermissionRequestEvent): string {
  const questions = Array.isArray(input.questions) ? input.questions : []
  const words = questions.flatMap((one: unknown) =>
    typeof one === 'object' && one !== null && 'question' in one ? [String(one.question)] : [],
  )
  if (words.length > 0) return words.join(' ').slice(0, 1000)
  const detail = JSON.stringify(input).slice(0, 500)
  return kind === 'plan' ? `It has a plan: ${detail}` : `It asks to use ${toolName}: ${detail}`
}

/** Parks a task for its agent's unanswered request. */
export function parkedBy(task: string, request: PermissionRequestEvent): JournalEntry {
  const options = optionsOf(request)
  const offered = options.length === 0 ? {} : { options }
  return { type: 'task:parked', task, kind: PARK_KIND[request.kind], why: requestWords(request), ...offered }
}

/**
 * The answers that a question offers. None for several questions, because one answer would not tell which it belongs
 * to.
 */
function optionsOf(request: PermissionRequestEvent): string[] {
  const [question, other] = factsOf(request).questions ?? []
  if (question === undefined || other !== undefined) return []
  return question.options.slice(0, MAX_OPTIONS).map(({ label }) => label.slice(0, 200))
}

const MAX_OPTIONS = 10

export function sessionSpending({ status }: LiveSession): Spending {
  return { usd: status.costUsd, isEstimate: status.costIsEstimate, tokens: status.tokens }
}

/** Budget of the task's session: the rest after earlier sessions of the same start. */
export function budgetOf({ task: { budgetUsd, budgetTokens }, handed = [], earlier = [] }: TaskState) {
  const before = [...handed, ...earlier].reduce<Spending | undefined>(
    (sum, { spent }) => addSpent(sum, spent),
    undefined,
  )
  return {
    budgetUsd: budgetUsd && Math.max(budgetUsd - (before?.usd ?? 0), LEAST_USD),
    budgetTokens: budgetTokens && Math.max(budgetTokens - (before?.tokens ?? 0), 1),
  }
}

const LEAST_USD = 0.000_001

type Role = 'planner' | 'coder'
/** Tools by role, from spec 001 §7.2. */
const ROLE_TOOLS: Record<Role, readonly string[]> = {
  planner: ['Read', 'Bash'],
  coder: ['Read', 'Edit', 'Write', 'Bash', 'Glob', 'Grep'],
}
export const roleOf = ({ task }: TaskState): Role => (task.expect === 'none' ? 'planner' : 'coder')

/**
 * Permissions of the turn. A persona has its own; otherwise a planner reads and a coder writes. Anything else is asked,
 * and parks the task.
 */
export function turnPermissions(task: TaskState) {
  if (task.task.persona !== undefined) return {}
  const role = roleOf(task)
  const autoApproveTools = [...ROLE_TOOLS[role]]
  return role === 'coder'
    ? { autoApproveTools, permissionMode: 'acceptEdits' as const }
    : { autoApproveTools }
}

export function firstLine(text = ''): string {
  return text.split('\n')[0] ?? ''
}

/** Kind of parking for an unanswered request. */
export const PARK_KIND = {
  tool: 'permission',
  question: 'question',
  plan: 'plan',
  unknown: 'question',
} as const

/** Reasons for a failed start that only the user can mend. */
export const PARK_CODES = new Map<string, ParkKind>([
  ['not_installed', 'harness'],
  ['auth_failed', 'harness'],
  ['unsupported', 'harness'],
  ['not_found', 'harness'],
  ['budget', 'budget'],
])
