/** `unknown` is not `away`: an observer that was cut off itself knows nothing of the others. */
export type MachineState = 'here' | 'away' | 'unknown'

export interface Observation {
  /** When the machine was last heard, by the observer's own clock. Undefined: never. */
  heardAt: number | undefined
  /** Since when the observer is connected without a break. Undefined: it is not. */
  connectedSince: number | undefined
  now: number
}

/** A machine sends a beat every 5 s. No clock of another machine is looked at. */
export function stateOf({ heardAt, connectedSince, now }: Observation): MachineState {
  if (connectedSince === undefined) return 'unknown'
  if (heardAt !== undefined && now - heardAt <= AWAY_MS) return 'here'
  return now - connectedSince > AWAY_MS ? 'away' : 'unknown'
}

export const BEAT_MS = 5_000
export const AWAY_MS = 15_000
