import type { HarnessTurnOpts, Session, UIEvent } from '@chirality/core'
import type { AttemptSource, Candidate } from './attempt-source.ts'
import type { TurnParts, TurnPlan } from './connection.ts'
import type { ProcessAttempt } from './process-attempt.ts'
import { Turn } from './turn.ts'
import type { TurnProgram } from './turn-program.ts'

export interface ProcessTurnOptions {
  program: TurnProgram
  session: Session
  turnId: string
  source: AttemptSource
  /** Told before all that the agent says. */
  opening?: UIEvent[]
  opts?: Pick<HarnessTurnOpts, 'stallMs' | 'onProcess'> | undefined
}

/** One turn in a process of its own: from the user's message to `process:exit`. */
export function processTurn(options: ProcessTurnOptions): Turn<ProcessAttempt> {
  return new Turn({ ...options, plan: processPlan(options) })
}

export function processPlan({
  program,
  session,
  turnId,
  source,
  opening,
}: ProcessTurnOptions): TurnPlan<ProcessAttempt> {
  const { resumedId, signal, hasBegun } = source
  const { id: sessionId, projectRoot } = session
  let first: Candidate | undefined
  const open = async (candidate: Candidate, parts: TurnParts, resumed?: string) => {
    if (parts.stop.reason && !hasBegun) return null
    const isFirstTurn = session.claudeSessionId === null
    return candidate.open({
      ...parts,
      sessionId,
      turnId,
      program,
      projectRoot,
      isFirstTurn,
      opening,
      resumedId: resumed,
    })
  }
  return {
    agent: program,
    config: program.config,
    signal,
    resumedId,
    hasBegun,
    ownsProcess: true,
    prompt: async ({ stop, log }) => {
      if (resumedId) log.write('info', 'resume:attempt', { claudeSessionId: resumedId })
      first = await source.first(stop.signal)
      return first
    },
    open: async parts => open(first ?? (await source.first(parts.stop.signal)), parts, resumedId),
    afresh: async parts => open(await source.afresh(parts.stop.signal), parts),
    release: () => source.release(),
  }
}
