import type { Guard, HarnessId, PermissionMode, PermissionRequestEvent } from '@chirality/core'
import type { PolicyRule } from '@chirality/personas'

/** Who asks. */
export interface AskContext {
  sessionId: string
  projectRoot: string
  persona: string | null
  harness: HarnessId
  /** Milliseconds after which nobody's answer means no, in this turn. Left out: as the broker was told. */
  timeoutMs?: number
}

/** What the written rules say about a request. */
export interface PolicyVerdict {
  /** `ask` without a rule: none of them says anything. */
  effect: 'allow' | 'ask' | 'deny'
  /** `<file>:<line> <text>` of the rule that matched. */
  rule?: string
  /** What is wrong with the policies, when something is. Everything asks then. */
  problem?: string
}

/** A guard for a harness that can ask one, and the rules for a harness that has to be told them beforehand. */
export interface PolicyGuard extends Guard {
  /** Those that ask or deny. */
  rules: readonly PolicyRule[]
  /** What is wrong with the policies, when something is. To be told at the beginning of the turn. */
  problem?: string
}

/** Answers without a person. `PolicyBook` is the one that reads files. */
export interface PolicyJudge {
  judge(context: AskContext, request: PermissionRequestEvent): Promise<PolicyVerdict>
  /** What holds before every call, whatever the agent asks about by itself. */
  guard?(context: AskContext, mode: PermissionMode): Promise<PolicyGuard>
  /** Keeps "always" for this project, in the user's own policy. */
  allowAlways?(context: AskContext, request: PermissionRequestEvent): Promise<void>
}

/** For people: what an error in a policy means. */
export function policyError(problem: string): string {
  return `No rule allows anything while a policy has an error: ${problem}`
}

/** A request that waits for a person. */
export interface PendingDecision {
  sessionId: string
  askedAt: string
  request: PermissionRequestEvent
  /** Why no policy could answer it, when one is broken. To be shown with the request. */
  policyProblem?: string
}

export type DecisionErrorCode =
  /** No such request in this session. */
  | 'unknown'
  /** The agent took it back, or its turn is over. */
  | 'closed'
  | 'answered'
  /** The answer makes no sense; the request stays open. */
  | 'invalid'

/** An answer that was not taken. The message says what to do. */
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
