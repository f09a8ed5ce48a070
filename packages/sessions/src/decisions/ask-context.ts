import type { Guard, HarnessId, PermissionMode, PermissionRequestEvent } from '@chirality/core'
import type { PolicyRule } from '@chirality/personas'

/** The session and turn that a request comes from. */
export interface AskContext {
  sessionId: string
  projectRoot: string
  persona: string | null
  harness: HarnessId
  /** Milliseconds after which an unanswered request of this turn is denied. Undefined: the broker's default. */
  timeoutMs?: number
}

/** The decision of the written rules about a request. */
export interface PolicyVerdict {
  /** `ask` without a rule: no rule matches. */
  effect: 'allow' | 'ask' | 'deny'
  /** `<file>:<line> <text>` of the rule that matched. */
  rule?: string
  /** The error in the policies, if there is one. Every call asks then. */
  problem?: string
}

/** A guard for a harness that supports one, and the rules for a harness that needs them beforehand. */
export interface PolicyGuard extends Guard {
  /** The rules that ask or deny. */
  rules: readonly PolicyRule[]
  /** The error in the policies, if there is one. Shown at the beginning of the turn. */
  problem?: string
}

/** Answers without a person. `PolicyBook` is the implementation that reads files. */
export interface PolicyJudge {
  judge(context: AskContext, request: PermissionRequestEvent): Promise<PolicyVerdict>
  /** The check before every call, whatever the agent asks about by itself. */
  guard?(context: AskContext, mode: PermissionMode): Promise<PolicyGuard>
  /** Stores "always" for this project, in the user's own policy. */
  allowAlways?(context: AskContext, request: PermissionRequestEvent): Promise<void>
}

/** Explains to the user what an error in a policy causes. */
export function policyError(problem: string): string {
  return `No rule allows anything while a policy has an error: ${problem}`
}

/** A request that waits for a person. */
export interface PendingDecision {
  sessionId: string
  askedAt: string
  request: PermissionRequestEvent
  /** Why no policy could answer it, if one has an error. Shown with the request. */
  policyProblem?: string
}

export type DecisionErrorCode =
  /** There is no such request in this session. */
  | 'unknown'
  /** The agent withdrew it, or its turn is over. */
  | 'closed'
  | 'answered'
  /** The answer is invalid; the request stays open. */
  | 'invalid'

/** An answer that was refused. The message says what to do. */
export class DecisionError extends Error {
  readonly code: DecisionErrorCode

  constructor(code: DecisionErrorCode, message: string) {
    super(message)
    this.name = 'DecisionError'
    this.code = code
  }
}

export function invalid(message: string): DecisionError {
  return new DecisionError('invalid', `${message} The request stays open.`)
}
