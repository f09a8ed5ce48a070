import type { HarnessId, PermissionRequestEvent } from '@chirality/core'

/** Who asks. */
export interface AskContext {
  sessionId: string
  projectRoot: string
  persona: string | null
  harness: HarnessId
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

/** Answers without a person. `PolicyBook` is the one that reads files. */
export interface PolicyJudge {
  judge(context: AskContext, request: PermissionRequestEvent): Promise<PolicyVerdict>
  /** Keeps "always" for this project, in the user's own policy. */
  allowAlways?(context: AskContext, request: PermissionRequestEvent): Promise<void>
}

/** A request that waits for a person. */
export interface PendingDecision {
  sessionId: string
  askedAt: string
  request: PermissionRequestEvent
  /** Why no policy could answer it, when one is broken. To be shown with the request. */
  policyProblem?: string
}
