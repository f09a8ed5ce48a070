import { factsOf, type PermissionRequestEvent, type SessionErrorCode, type UIEvent } from '@chirality/core'
import { type LiveSession, noteClaudeSession } from '@chirality/sessions'
import { handOver, harnessOf, planLimit } from './hand-over.ts'
import type { JournalEntry, ParkKind, TurnError } from './journal.ts'
import { isUsedUp, type LoopContext, type TaskOutcome } from './loop-context.ts'
import { writeBudget } from './loop-keeper.ts'
import type { TaskState } from './loop-state.ts'
import { patternsIn } from './prompt.ts'
import { eventsAfter, lastText, parkedBy, roleOf, sessionSpending } from './turn-facts.ts'

export interface EndedTurn {
  /** Last event of the session's log before the turn. */
  fromSeq: number
  /** Unanswered request of the agent. */
  asked: PermissionRequestEvent | undefined
  /** True if an earlier process started the turn: its agent may have ended with that process. */
  isTakenUp: boolean
}

/**
 * Decides how a task continues after a turn of its agent, and records that together with the turn's end: a process
 * killed here leaves both or neither. Undefined if the files have to be checked; `handed` if another agent continues.
 */
export async function settleTurn(
  loop: LoopContext,
  task: TaskState,
  live: LiveSession,
  { fromSeq, asked, isTakenUp }: EndedTurn,
): Promise<TaskOutcome | 'handed' | undefined> {
  const { signal, state, record } = loop
  const { id } = task.task
  const events = eventsAfter(live, fromSeq)
  const end = events.findLast(event => event.type === 'turn:end')
  const reason = end?.type === 'turn:end' ? end.reason : 'crashed'
  await noteClaudeSession(state.projectRoot, roleOf(task), live.stored.claudeSessionId)
  const error = UNFINISHED.has(reason) ? errorIn(events, reason, isTakenUp) : undefined
  const harness = await harnessOf(loop, task, live)
  const limit = error?.code === 'rate_limited' ? planLimit(harness, live, fromSeq) : undefined
  const denied = denialsIn(events)
  const ended: JournalEntry = {
    type: 'iteration:end',
    task: id,
    n: task.iterations,
    reason,
    spent: sessionSpending(live),
    pattern: patternsIn(lastText(live, fromSeq)),
    limit,
    error,
    denied: denied.length === 0 ? undefined : denied,
  }
  // An agent named in the list is the user's to mend; one that the task was handed to is replaced.
  const broken = task.harness !== undefined && NOT_HERE.has(error?.code ?? '') ? error?.words : undefined
  const mayGoOn = asked === undefined && !signal.aborted && (limit ?? broken) !== undefined
  const handed = mayGoOn ? await handOver(loop, task, limit ?? { harness }, broken) : undefined
  const parked = handed === undefined && limit === undefined ? parkOf(loop, task, reason, error) : undefined
  // Only this process knows the request, so the end of the turn is recorded together with it.
  if (asked !== undefined) record(ended, parkedBy(id, asked))
  else if (handed !== undefined) record(ended, handed)
  else if (parked !== undefined && !signal.aborted)
    record(ended, { type: 'task:parked', task: id, ...parked, why: parked.why.slice(0, MAX_WHY) })
  else record(ended)
  writeBudget(loop)
  if (asked !== undefined) return 'over'
  if (signal.aborted) return 'stopped'
  if (handed !== undefined) return 'handed'
  if (limit !== undefined) return { rateLimit: limit.until }
  if (parked !== undefined) return 'over'
  return reason === 'budget' ? 'limit' : undefined
}

/** An end that no further turn can mend, so that a person has to. */
function parkOf(
  loop: LoopContext,
  task: TaskState,
  reason: string,
  error: TurnError | undefined,
): { kind: ParkKind; why: string } | undefined {
  if (reason === 'budget')
    return isUsedUp(loop.rest())
      ? undefined
      : {
          kind: 'budget',
          why: 'The budget of the task is used up. Raise it in the list and run the task again.',
        }
  if (reason === 'interrupted' || reason === 'killed')
    return { kind: 'interrupted', why: 'Somebody stopped the agent in its session.' }
  if (error === undefined) return undefined
  if (NO_USE.has(error.code)) return { kind: 'harness', why: error.words }
  const crashes = (error.crashes ?? 0) + (task.fault?.crashes ?? 0)
  if (crashes < MAX_CRASHES) return undefined
  return { kind: 'harness', why: `The agent crashed ${crashes} times in a row. ${error.words}` }
}

/** Ends a task before its next attempt: after the same failure twice without a change, or after a denied request. */
export function endOfAttempts(
  { task, fault, denied, attempts, failure }: TaskState,
  settings: LoopContext['state']['settings'],
): JournalEntry | undefined {
  const { id } = task
  if (attempts > 0 && settings.park_on_denial && denied !== undefined)
    return { type: 'task:parked', task: id, kind: 'permission', why: deniedWords(denied) }
  if ((fault?.same ?? 0) >= MAX_SAME)
    return {
      type: 'task:failed',
      task: id,
      why: `Two turns in a row changed nothing and ended in the same way. ${fault?.words ?? ''}`.slice(
        0,
        MAX_WHY,
      ),
    }
  if (attempts < settings.max_attempts) return undefined
  const [first = ''] = (failure ?? '').split('\n')
  return { type: 'task:failed', task: id, why: `Not proved after ${attempts} attempts. ${first}` }
}

/** Why the next turn needs a new conversation. Undefined if the last one continues. */
export function freshReason(
  { fault }: TaskState,
  { fresh }: LoopContext['state']['settings'],
  live: LiveSession,
): string | undefined {
  const isFull = fault?.code === 'context_overflow'
  if (!isFull && !fresh) return undefined
  if (!eventsAfter(live, 0).some(({ type }) => type === 'turn:start')) return undefined
  return isFull ? 'The conversation was too long for the model.' : 'Each attempt has a fresh session.'
}

/** Text about an unfinished turn, for the agent and the report. */
export function unfinishedWords(reason: string, fault: TurnError | undefined): string {
  return `The agent did not finish: ${reason}.${fault === undefined ? '' : ` ${fault.words}`}`
}

export function deniedWords(denied: readonly string[]): string {
  return `The agent was not allowed: ${denied.join('; ')}. Allow it in your rules or in its persona, or say in a note how to do without it.`
}

function errorIn(events: readonly UIEvent[], reason: string, isTakenUp: boolean): TurnError | undefined {
  const errors = events.filter(event => event.type === 'session:error')
  const last = errors.findLast(({ recovered }) => !recovered)
  const code = last?.code ?? (reason === 'crashed' ? 'process_crashed' : 'unknown')
  // The host may have started the agent twice in one turn. An agent that ended with the previous process did not crash.
  const crashes =
    reason === 'crashed' && !isTakenUp ? errors.filter(one => one.code === 'process_crashed').length : 0
  if (last === undefined && crashes === 0) return undefined
  const words = (last?.error ?? 'It ended without a word.').slice(0, MAX_ERROR)
  return { code, words, crashes: crashes === 0 ? undefined : crashes }
}

/** Requests that were denied, except by a person, who knows about it. */
function denialsIn(events: readonly UIEvent[]): string[] {
  const requests = new Map<string, PermissionRequestEvent>()
  const denied = new Set<string>()
  for (const event of events) {
    if (event.type === 'permission:request') requests.set(event.requestId, event)
    if (event.type === 'status' && event.status === 'permission_denied') denied.add(event.message)
    if (event.type !== 'permission:resolved' || event.outcome !== 'denied' || event.by === 'person') continue
    const request = requests.get(event.requestId)
    const { label, object } = request === undefined ? A_CALL : factsOf(request)
    const call = `${label} ${object}`.trim()
    const why = event.rule ?? event.message
    denied.add(`${call}${why === undefined ? '' : ` (${why})`}`)
  }
  return [...denied].slice(0, MAX_DENIED).map(words => words.replace(/\s+/g, ' ').slice(0, MAX_DENIAL))
}

const A_CALL = { label: 'A call', object: '' }
const UNFINISHED = new Set(['failed', 'crashed', 'timeout'])
/** Errors of an agent that cannot work on this machine at all. */
const NOT_HERE = new Set<string>(['auth_failed', 'not_installed'] satisfies SessionErrorCode[])
/** Errors that the same message would cause again. */
const NO_USE = new Set<string>([
  ...(['auth_failed', 'billing', 'model_not_found', 'not_installed', 'unsupported'] as const),
  ...(['invalid_request', 'refused'] as const),
] satisfies SessionErrorCode[])
const MAX_CRASHES = 2
const MAX_SAME = 2
const MAX_WHY = 8_000
const MAX_ERROR = 2_000
const MAX_DENIED = 5
const MAX_DENIAL = 300
