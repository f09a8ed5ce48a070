import {
  CodedError,
  type Guard,
  type HarnessId,
  type PermissionMode,
  type PermissionRequestEvent,
} from '@chirality/core'
import type { PolicyRule } from '@chirality/personas'

/** The session and turn that a request comes from. */
export interface AskContext {
  sessionId: string
  projectRoot: string
  /** The folder that the agent works in, if it is not the project's. */
  workFolder?: string | undefined
  persona: string | null
  harness: HarnessId
  /**
   * Calls that the caller of the turn allows, for an agent that cannot be told them. A rule that asks or denies wins,
   * and what leads out of the folder or decides what agents may do is asked about.
   */
  allows?: readonly PolicyRule[]
  /** Calls that the caller or the persona denies: `allows` does not count for them. */
  denies?: readonly PolicyRule[]
  /** No rule and nothing that is remembered allows it. */
  personOnly?: boolean
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

/** Why an answer was not taken. */
export type DecisionErrorCode =
  /** No such request in this session. */
  | 'decision-unknown'
  /** The agent took it back, or its turn is over. */
  | 'decision-closed'
  | 'decision-answered'
  /** The answer makes no sense; the request stays open. */
  | 'decision-invalid'

export function decisionError(code: DecisionErrorCode, message: string): CodedError<DecisionErrorCode> {
  return new CodedError(code, message)
}

export function invalid(message: string): CodedError<DecisionErrorCode> {
  return decisionError('decision-invalid', `${message} The request stays open.`)
}
