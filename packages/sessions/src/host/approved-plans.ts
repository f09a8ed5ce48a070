import type { PermissionMode, UIEvent } from '@chirality/core'

/** Which mode an approved plan leads to. A mode that is set for one turn only is none of its business. */
export class ApprovedPlans {
  #asked: string | null = null
  #isApproved = false

  /** The mode that the agent is in from now on because its plan was approved. */
  see(event: UIEvent): PermissionMode | undefined {
    switch (event.type) {
      case 'turn:start':
      case 'turn:end':
        this.#asked = null
        this.#isApproved = false
        return undefined
      case 'permission:request':
        if (event.kind === 'plan') this.#asked = event.requestId
        return undefined
      case 'permission:resolved':
        this.#isApproved ||= event.requestId === this.#asked && event.outcome === 'allowed'
        return undefined
      case 'status':
        return this.#isApproved && event.status === 'permission_mode' ? modeOf(event.data?.mode) : undefined
      default:
        return undefined
    }
  }
}

/** Claude Code goes back to the mode before the plan, which may have been for one turn only: no edit is free by that. */
function modeOf(value: unknown): PermissionMode | undefined {
  if (value === 'dontAsk') return value
  return value === 'default' || value === 'acceptEdits' ? 'default' : undefined
}
