import type { Session, TurnProcess, TurnTrace } from '@chirality/core'
import { adoptAgent } from '../../process/adopt-agent.ts'
import type { AgentProcess } from '../../process/agent-process.ts'
import { MARKER_VARIABLE, parseMarkers } from '../../process/system/leftovers.ts'
import { stillRunning } from '../../process/system/process-table.ts'
import { stopByMarker, stopTraced } from '../../process/traced-process.ts'
import type { TurnPlan } from '../../turn/connection.ts'
import type { TurnLog } from '../../turn/harness-log.ts'
import { type EndedAgent, toldPlan } from '../../turn/told-turn.ts'
import { MESSAGES_API, type MessagesApiContext } from '../config.ts'
import { MESSAGES_API_ID } from '../descriptor.ts'
import { TurnView } from '../log/turn-view.ts'

export interface AdoptedTurnOptions {
  session: Session
  trace: TurnTrace
  context: MessagesApiContext
}

/**
 * A turn whose loop ended with the Chirality process that ran it. It is read from its raw log and ends as the log says.
 * Its commands may still be running; they are not waited for.
 */
export function adoptedPlan({ session, trace, context }: AdoptedTurnOptions): TurnPlan {
  const { config } = context
  return toldPlan({
    agent: MESSAGES_API,
    config,
    trace,
    find: ({ log }) => find({ session, trace, context }, log),
  })
}

async function find({ session, trace, context }: AdoptedTurnOptions, log: TurnLog): Promise<EndedAgent> {
  const left = stopCommands(trace.processes, context).catch((error: unknown) => {
    log.write('error', 'process:left', { error: String(error) })
    return 0
  })
  const [traced] = trace.processes
  let process: AgentProcess | null = null
  if (traced) {
    log.write('info', 'process:adopt', { spool: traced.spoolPath })
    try {
      process = await adoptAgent({
        process: traced,
        projectRoot: session.projectRoot,
        harness: MESSAGES_API_ID,
      })
    } catch (error) {
      await left
      throw error
    }
  }
  const view = new TurnView(session.id)
  return {
    process,
    show: record => ({ events: [...view.show(record)] }),
    end: () => view.end(),
    outcome: () => view.outcome ?? null,
    fault: () => (traced ? STOPPED : NEVER_RAN),
    left,
    stop: () => left,
  }
}

const NEVER_RAN = 'Chirality ended before the turn began. Send the message again.'
const STOPPED = 'The turn ended with Chirality. What it did so far is kept; send a message to go on.'

/** Stops the processes that a turn's commands left when its program died. Returns their number. */
export async function stopCommands(
  processes: readonly TurnProcess[],
  { config, environment }: Pick<MessagesApiContext, 'config' | 'environment'>,
): Promise<number> {
  // A process with a marker of our own environment is one that we run in.
  const inherited = parseMarkers(environment[MARKER_VARIABLE])
  const others = processes.filter(({ marker }) => !inherited.includes(marker))
  const options = { ...config.stop, interruptGraceMs: 0 }
  const running = await stillRunning(others.map(trace => ({ ...trace, startedAt: trace.startTime })))
  const traced = await Promise.all(running.map(trace => stopTraced(trace, options)))
  const markers = [...new Set(others.map(({ marker }) => marker))]
  const marked = await Promise.all(markers.map(marker => stopByMarker(marker, options)))
  return new Set([...traced, ...marked].flatMap(({ stopped }) => stopped)).size
}
