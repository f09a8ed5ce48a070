/** Where a session is in its life: one turn at a time, from the message to what is left of it. */
export type TurnPhase = 'idle' | 'starting' | 'running' | 'waiting' | 'ending'

export type PhaseInput =
  /** A turn was asked for. */
  | 'start'
  /** It could not be started, and never was. */
  | 'refused'
  /** `turn:start` */
  | 'started'
  /** The agent waits for a decision. */
  | 'asked'
  /** It waits for none any more. */
  | 'answered'
  /** `turn:end` */
  | 'ended'
  /** Nothing of the turn runs any more, and all of it is stored. */
  | 'settled'

/** The phase after `input`; undefined where it means nothing. */
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
