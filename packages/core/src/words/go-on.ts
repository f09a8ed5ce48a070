import type { TurnEndReason } from '../events/ui-event.ts'

/** The message that sends an agent on. */
export const GO_ON = 'Go on.'

/** Whether a turn ended before the agent was done, and nobody wanted that: a crash, or its limit of steps. */
export function canGoOn(reason: TurnEndReason | null | undefined): boolean {
  return reason === 'crashed' || reason === 'max_turns'
}
