import type { PermissionDecision, PermissionRequestEvent } from '@chirality/core'

export interface DecisionProps {
  request: PermissionRequestEvent
  /** Sent, and no answer yet. */
  busy: boolean
  answer(decision: PermissionDecision): void
}
