import {
  HarnessError,
  type HarnessQuery,
  type HarnessTurnOpts,
  type Session,
  type TurnTrace,
  type UIEvent,
} from '@chirality/core'
import { anySignal } from '../common/any-signal.ts'
import { stopTraced } from '../process/traced-process.ts'
import type { TurnParts, TurnPlan } from './connection.ts'
import { type AttemptOptions, ProcessAttempt } from './process-attempt.ts'
import { Turn } from './turn.ts'
import type { Invocation, TurnProgram } from './turn-program.ts'
import { withoutConversation } from './turn-query.ts'

export interface ProcessTurnOptions {
  program: TurnProgram
  session: Session
  turnId: string
  source: AttemptSource
  /** Emitted before the agent's events. */
  opening?: UIEvent[] | undefined
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

/** The source of a turn's processes: either it starts them, or it adopts the one that a previous server started. */
export interface AttemptSource {
  /** The id of the conversation that the turn resumes. */
  readonly resumedId: string | undefined
  readonly signal: AbortSignal
  /** The turn is already running: errors become events, and a stop has a process to end. */
  readonly hasBegun: boolean
  /** Throws if the turn cannot start. An aborted signal cuts the preparation short, because nothing will be started. */
  first(stopped: AbortSignal): Promise<Candidate>
  /** The same message in a new conversation. */
  afresh(stopped: AbortSignal): Promise<Candidate>
  /** Removes what was prepared and not opened. Can be called twice. */
  release(): Promise<void>
}

export interface Candidate extends Pick<Invocation, 'promptText' | 'attachments'> {
  open(options: AttemptOptions): Promise<ProcessAttempt>
}

export function startedAttempts(query: HarnessQuery, program: TurnProgram): AttemptSource {
  const { resumeSessionId, forkSession, newSessionId, signal } = query
  let waiting: Invocation | undefined
  const candidate = async (wanted: HarnessQuery, expectedId: string | undefined): Promise<Candidate> => {
    const invocation = await program.prepare(wanted)
    waiting = invocation
    const { promptText, attachments } = invocation
    const open = (options: AttemptOptions) => {
      waiting = undefined
      return ProcessAttempt.start(invocation, { ...options, expectedId })
    }
    return { promptText, attachments, open }
  }
  return {
    resumedId: resumeSessionId,
    signal,
    hasBegun: false,
    first: stopped =>
      candidate(until(stopped, query), forkSession ? newSessionId : (resumeSessionId ?? newSessionId)),
    afresh: stopped => candidate(withoutConversation(until(stopped, query)), newSessionId),
    release: async () => waiting?.cleanup(),
  }
}

function until(stopped: AbortSignal, query: HarnessQuery): HarnessQuery {
  return { ...query, signal: anySignal([query.signal, stopped]) }
}

export function adoptedAttempts(trace: TurnTrace, signal?: AbortSignal): AttemptSource {
  const { message: promptText, attachments = 0, resumeSessionId } = trace
  const unopened = [...trace.processes]
  const candidate = async (): Promise<Candidate> => ({
    promptText,
    attachments,
    open: async options => {
      const process = unopened.shift()
      if (process) return ProcessAttempt.adopt(process, options)
      throw new HarnessError(NEVER_RAN, 'process_crashed', options.program.harnessId)
    },
  })
  return {
    resumedId: resumeSessionId,
    signal: signal ?? new AbortController().signal,
    hasBegun: true,
    first: candidate,
    afresh: candidate,
    release: async () => {
      for (const process of unopened.splice(0)) await stopTraced(process)
    },
  }
}

const NEVER_RAN = 'Chirality ended before it could start the agent. Send the message again.'
