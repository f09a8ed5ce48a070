import { isDeepStrictEqual } from 'node:util'
import type { CodedError, PermissionDecision, PermissionMode, PermissionRequestEvent } from '@chirality/core'
import {
  type AskContext,
  type DecisionErrorCode,
  decisionError,
  type PendingDecision,
  type PolicyGuard,
  type PolicyJudge,
  type PolicyVerdict,
  policyError,
} from './ask-context.ts'
import { parseAnswer } from './parse-answer.ts'
import { withHostFacts } from './policy/always-rule.ts'
import { SessionMemory } from './session-memory.ts'

export interface DecisionBrokerOptions {
  /** Milliseconds after which an unanswered request is denied. Null, the default: a request waits without limit. */
  timeoutMs?: number | null
  policies?: PolicyJudge
}

/**
 * Holds the agents' requests until a policy, a person, the timeout or the agent itself settles them, each exactly once.
 */
export class DecisionBroker {
  readonly #timeoutMs: number | null
  readonly #policies: PolicyJudge | undefined
  readonly #open = new Map<string, OpenRequest>()
  readonly #judging = new Map<string, Judging>()
  readonly #settled = new SettledRequests()
  readonly #memory = new SessionMemory()
  readonly #listeners = new Set<(sessionId: string) => void>()
  readonly #problemListeners = new Set<ProblemListener>()
  /** The policy errors that were reported for each session, so that each is reported once. */
  readonly #toldProblems = new Map<string, string>()

  constructor({ timeoutMs = null, policies }: DecisionBrokerOptions = {}) {
    if (timeoutMs !== null && !(timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS))
      throw new RangeError(`timeoutMs must be null or from 1 to ${MAX_TIMEOUT_MS}, not ${timeoutMs}.`)
    this.#timeoutMs = timeoutMs
    this.#policies = policies
  }

  /**
   * For `HarnessTurnOpts.decide`. A policy answers at once; otherwise it waits for a person, the timeout or `signal`,
   * which means that the agent withdrew its request or that the turn is over. Never rejects: an error denies the
   * request.
   */
  async ask(
    context: AskContext,
    asked: PermissionRequestEvent,
    signal: AbortSignal,
  ): Promise<PermissionDecision> {
    try {
      const request = withHostFacts(asked, context)
      const key = keyOf(context.sessionId, request.requestId)
      if (this.#open.has(key) || this.#judging.has(key)) return failed('The agent asked twice under one id.')
      this.#settled.forget(key)
      const judging: Judging = { request }
      this.#judging.set(key, judging)
      const verdict = await this.#judge(context, request).finally(() => this.#judging.delete(key))
      this.#tellPolicyProblem(context.sessionId, verdict.problem)
      if (signal.aborted) return this.#withdrawn(key)
      const early = judging.answer && { ...this.#remembered(context, request, judging.answer), by: BY_PERSON }
      const answered = answerOf(verdict) ?? early
      if (answered === undefined) return await this.#hold(context, request, { key, signal, verdict })
      this.#settled.add(key, 'answered')
      return answered
    } catch (error) {
      return failed(`The decision failed: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  /** For `HarnessTurnOpts.guard`: the checks of a turn, whether or not the agent asks. */
  async guard(context: AskContext, mode: PermissionMode): Promise<PolicyGuard | undefined> {
    const guard = await this.#policies?.guard?.(context, mode)
    // The turn reports the error when it begins.
    if (guard?.problem === undefined) this.#toldProblems.delete(context.sessionId)
    else this.#toldProblems.set(context.sessionId, guard.problem)
    return guard
  }

  /** The requests that wait for a person, oldest first. */
  pending(sessionId?: string): PendingDecision[] {
    const all = [...this.#open.values()].map(({ pending }) => pending)
    return sessionId === undefined ? all : all.filter(pending => pending.sessionId === sessionId)
  }

  /** A person's answer. Throws a CodedError<DecisionErrorCode> when it is not taken; a request with an invalid answer stays open. */
  answer(sessionId: string, requestId: string, decision: PermissionDecision): void {
    const key = keyOf(sessionId, requestId)
    const open = this.#open.get(key)
    const judging = this.#judging.get(key)
    // A person can answer a request while the rules are still being read. The rules' decision comes first.
    if (judging !== undefined && judging.answer === undefined) {
      judging.answer = parseAnswer(judging.request, decision)
      return
    }
    if (open === undefined) throw late(requestId, judging ? 'answered' : this.#settled.get(key))
    const { request } = open.pending
    const parsed = parseAnswer(request, decision)
    open.settle({ ...this.#remembered(open.context, request, parsed), by: 'person' }, 'answered')
  }

  /** Closes the session's open requests, and forgets what was allowed "for the session". */
  closeSession(sessionId: string): void {
    for (const { pending, settle } of [...this.#open.values()])
      if (pending.sessionId === sessionId) settle(WITHDRAWN, 'closed')
    this.#memory.forget(sessionId)
    this.#toldProblems.delete(sessionId)
  }

  /** Called when a request of a session begins or stops waiting. */
  onChange(listener: (sessionId: string) => void): () => void {
    // Wrapped, so that one function registered twice is two listeners, each with its own unsubscribe.
    const own = (sessionId: string) => listener(sessionId)
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
  }

  /** Called with a notice that is part of no answer: "always" could not be written, or a policy has an error. */
  onProblem(listener: ProblemListener): () => void {
    const own: ProblemListener = (...problem) => listener(...problem)
    this.#problemListeners.add(own)
    return () => this.#problemListeners.delete(own)
  }

  async #judge(context: AskContext, request: PermissionRequestEvent): Promise<PolicyVerdict> {
    const verdict: PolicyVerdict = (await this.#policies?.judge(context, request)) ?? { effect: 'ask' }
    if (context.personOnly) return verdict.effect === 'deny' ? verdict : { effect: 'ask' }
    if (verdict.effect !== 'ask' || verdict.problem !== undefined) return verdict
    const rule = this.#memory.ruleFor(context, request)
    return rule === undefined ? verdict : { effect: 'allow', rule }
  }

  #hold(context: AskContext, request: PermissionRequestEvent, held: Held): Promise<PermissionDecision> {
    const { key, signal, verdict } = held
    const { sessionId } = context
    if (this.#open.has(key)) return Promise.resolve(failed('The agent asked twice under one id.'))
    if (this.pending(sessionId).length >= MAX_PENDING) return Promise.resolve(TOO_MANY)
    return new Promise(resolve => {
      const settle = (decision: PermissionDecision, ending: Ending): void => {
        if (!this.#open.delete(key)) return
        clearTimeout(timer)
        signal.removeEventListener('abort', withdraw)
        this.#settled.add(key, ending)
        resolve(decision)
        this.#tell(sessionId)
      }
      const withdraw = () => settle(WITHDRAWN, 'closed')
      const timeoutMs = context.timeoutMs ?? this.#timeoutMs
      const onTimeout = () => settle(timedOut(timeoutMs ?? 0), 'closed')
      // The longest delay of a timer; a longer one would fire at once.
      const timer =
        timeoutMs === null ? undefined : setTimeout(onTimeout, Math.min(timeoutMs, MAX_TIMEOUT_MS)).unref()
      const pending: PendingDecision = { sessionId, askedAt: new Date().toISOString(), request }
      if (verdict.problem !== undefined) pending.policyProblem = verdict.problem
      this.#open.set(key, { context, pending, settle })
      signal.addEventListener('abort', withdraw, { once: true })
      this.#tell(sessionId)
    })
  }

  #withdrawn(key: string): PermissionDecision {
    this.#settled.add(key, 'closed')
    return WITHDRAWN
  }

  /**
   * The answer as the agent gets it: for this call only. "Always" is stored here and in the user's policy, so that it
   * is the rule that the person was shown. The agents' own rules would be wider: Codex stores a whole MCP tool, Claude
   * Code a mode or a folder.
   */
  #remembered(
    context: AskContext,
    request: PermissionRequestEvent,
    decision: PermissionDecision,
  ): PermissionDecision {
    if (decision.behavior === 'deny' || decision.remember === undefined) return decision
    const { remember, ...once } = decision
    const { updatedInput = request.input } = decision
    const isEdited = !isDeepStrictEqual(updatedInput, request.input)
    const { suggestions: _ofAnother, ...edited } = request
    const meant = isEdited ? withHostFacts({ ...edited, input: updatedInput }, context) : request
    if (meant.risks === undefined) void this.#remember(context, meant, remember)
    else this.#tellProblem(context.sessionId, NOT_REMEMBERED)
    return once
  }

  /** A failure to store the rule does not undo the answer. */
  async #remember(
    context: AskContext,
    request: PermissionRequestEvent,
    scope: 'session' | 'always',
  ): Promise<void> {
    try {
      this.#memory.add(context, request)
      if (scope === 'always') await this.#policies?.allowAlways?.(context, request)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#tellProblem(context.sessionId, `"Always" holds for this session only: ${reason}`)
    }
  }

  /** Reported once, until the error changes or the policies are valid again. */
  #tellPolicyProblem(sessionId: string, problem: string | undefined): void {
    if (problem === this.#toldProblems.get(sessionId)) return
    if (problem === undefined) this.#toldProblems.delete(sessionId)
    else {
      this.#toldProblems.set(sessionId, problem)
      this.#tellProblem(sessionId, policyError(problem))
    }
  }

  #tellProblem(sessionId: string, message: string): void {
    for (const listener of [...this.#problemListeners]) quietly(() => listener(sessionId, message))
  }

  #tell(sessionId: string): void {
    for (const listener of [...this.#listeners]) quietly(() => listener(sessionId))
  }
}

export type ProblemListener = (sessionId: string, message: string) => void

/** Checked against the rules, and possibly answered meanwhile. */
interface Judging {
  request: PermissionRequestEvent
  answer?: PermissionDecision
}

const BY_PERSON = 'person' as const

interface OpenRequest {
  context: AskContext
  pending: PendingDecision
  settle: (decision: PermissionDecision, ending: Ending) => void
}

interface Held {
  key: string
  signal: AbortSignal
  verdict: PolicyVerdict
}

const MAX_TIMEOUT_MS = 2 ** 31 - 1
const WITHDRAWN: PermissionDecision = {
  behavior: 'deny',
  message: 'The request was taken back, or its turn is over.',
  by: 'turn-end',
}

/** More than a person answers in one turn. Without a bound each of a flood of requests costs as much as all before it. */
const MAX_PENDING = 100
const TOO_MANY: PermissionDecision = {
  behavior: 'deny',
  message: `${MAX_PENDING} requests of this session wait for a person already, so this one was denied. Ask again when some of them are answered.`,
  by: 'policy',
  rule: `at most ${MAX_PENDING} open requests`,
}

/** An exception in a listener is ignored; no decision depends on it. */
function quietly(tell: () => void): void {
  try {
    tell()
  } catch {}
}

function keyOf(sessionId: string, requestId: string): string {
  return JSON.stringify([sessionId, requestId])
}

function answerOf({ effect, rule, problem }: PolicyVerdict): PermissionDecision | undefined {
  const by = { by: 'policy' as const, ...(rule === undefined ? {} : { rule }) }
  if (effect === 'allow') return { behavior: 'allow', ...by }
  if (effect !== 'deny') return undefined
  if (rule !== undefined) return { behavior: 'deny', message: `Denied by a rule: ${rule}`, ...by }
  const message = problem === undefined ? NOBODY : `${NOBODY} ${policyError(problem)}`
  return { behavior: 'deny', message, ...by }
}

/** If nobody can be asked, a call without a matching rule is denied. */
const NOBODY = 'No rule allows it, and nobody is there to ask.'

function timedOut(timeoutMs: number): PermissionDecision {
  return { behavior: 'deny', message: `Nobody answered within ${timeoutMs / 1000} s.`, by: 'timeout' }
}

function failed(message: string): PermissionDecision {
  return { behavior: 'deny', message, by: 'failure' }
}

function late(requestId: string, ending: Ending | undefined): CodedError<DecisionErrorCode> {
  switch (ending) {
    case 'answered':
      return decisionError('decision-answered', 'This request was answered already. The first answer counts.')
    case 'closed':
      return decisionError(
        'decision-closed',
        'The agent no longer waits for this answer: it took the request back, nobody answered in time, or its turn is over. Send a message instead.',
      )
    case undefined: {
      const shown = JSON.stringify(String(requestId).slice(0, 80))
      return decisionError(
        'decision-unknown',
        `This session has no request ${shown}. Look at what is open now.`,
      )
    }
  }
}

/** How a request ended. */
type Ending = 'answered' | 'closed'

/** Stores the last closed requests, so that a late answer gets the reason. */
class SettledRequests {
  readonly #endings = new Map<string, Ending>()

  add(key: string, ending: Ending): void {
    this.#endings.delete(key)
    this.#endings.set(key, ending)
    if (this.#endings.size <= MAX_REMEMBERED) return
    const [oldest] = this.#endings.keys()
    if (oldest !== undefined) this.#endings.delete(oldest)
  }

  get(key: string): Ending | undefined {
    return this.#endings.get(key)
  }

  forget(key: string): void {
    this.#endings.delete(key)
  }
}

const MAX_REMEMBERED = 4096

const NOT_REMEMBERED =
  'The call is marked as dangerous, so it was allowed this once and not remembered. A rule in your policy can allow it.'
