/** The phases of a session's turn, from the message to the end of its processes. */
export type TurnPhase = 'idle' | 'starting' | 'running' | 'waiting' | 'ending'

export type PhaseInput =
  | 'start'
  /** The turn could not be started. */
  | 'refused'
  /** `turn:start` */
  | 'started'
  | 'asked'
  /** No decision is open any more. */
  | 'answered'
  /** `turn:end` */
  | 'ended'
  /** All processes of the turn have ended, and everything is stored. */
  | 'settled'

/** The phase after `input`; undefined where `input` does not apply. */
export function nextPhase(phase: TurnPhase, input: PhaseInput): TurnPhase | undefined {
  return TRANSITIONS[phase][input]
}

const TRANSITIONS: Record<TurnPhase, Partial<Record<PhaseInput, TurnPhase>>> = {
  idle: { start: 'starting' },
  starting: { refused: 'idle', started: 'running' },
  running: { asked: 'waiting', ended: 'ending' },
  waiting: { answered: 'running', ended: 'ending' },
  ending: { settled: 'idle' },
}
