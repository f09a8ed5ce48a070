/** `unknown` is not `away`: an observer that was disconnected knows nothing of the others. */
export type MachineState = 'here' | 'away' | 'unknown'

export interface Observation {
  /** Time of the last beat by the observer's own clock. Undefined if there was none. */
  heardAt: number | undefined
  /** Start of the current connection of the observer. Undefined while it is disconnected. */
  connectedSince: number | undefined
  now: number
}

/** Derives the state from beats, which a machine sends every 5 s. Clocks of other machines are never used. */
export function stateOf({ heardAt, connectedSince, now }: Observation): MachineState {
  if (connectedSince === undefined) return 'unknown'
  if (heardAt !== undefined && now - heardAt <= AWAY_MS) return 'here'
  return now - connectedSince > AWAY_MS ? 'away' : 'unknown'
}

export const BEAT_MS = 5_000
export const AWAY_MS = 15_000
