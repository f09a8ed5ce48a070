import type { NdjsonRecord, Session, TurnProcess, TurnTrace, UIEvent } from '@chirality/core'
import { adoptAgent } from '../../process/adopt-agent.ts'
import { type AgentProcess, outputOf } from '../../process/agent-process.ts'
import { MARKER_VARIABLE, parseMarkers } from '../../process/system/leftovers.ts'
import { stillRunning } from '../../process/system/process-table.ts'
import { stopByMarker, stopTraced } from '../../process/traced-process.ts'
import type { Connection, ConnectionEnd, TurnPlan } from '../../turn/connection.ts'
import type { HarnessLog } from '../../turn/harness-log.ts'
import { startFailure } from '../../turn/start-failure.ts'
import type { StopReason } from '../../turn/turn-events.ts'
import { MESSAGES_API, type MessagesApiContext } from '../config.ts'
import { HARNESS_ID } from '../descriptor.ts'
import { TurnView } from '../log/turn-view.ts'

export interface AdoptedTurnOptions {
  session: Session
  trace: TurnTrace
  context: MessagesApiContext
}

/**
 * A turn whose loop ended with the Chirality that ran it: what it did is told from its raw log, and it ends as its last
 * words say. Its commands may still run, and nobody waits for them.
 */
export function adoptedPlan(options: AdoptedTurnOptions): TurnPlan {
  const { trace, context } = options
  const { message: promptText, attachments = 0 } = trace
  return {
    agent: MESSAGES_API,
    config: context.config,
    // There is nothing left to stop but commands, and these are stopped in any case.
    signal: new AbortController().signal,
    hasBegun: true,
    prompt: async () => ({ promptText, attachments }),
    open: async ({ log }) => new RawLogConnection(options, log),
  }
}

class RawLogConnection implements Connection {
  readonly hasBegun = true
  readonly offset = -1
  readonly isQuiet = true
  readonly #options: AdoptedTurnOptions
  readonly #log: HarnessLog
  readonly #view: TurnView
  readonly #stopping: Promise<number>

  constructor(options: AdoptedTurnOptions, log: HarnessLog) {
    const { session, trace, context } = options
    this.#options = options
    this.#log = log
    this.#view = new TurnView(session.id)
    this.#stopping = stopCommands(trace.processes, context).catch((error: unknown) => {
      log.write('error', 'process:left', { error: String(error) })
      return 0
    })
  }

  async *batches(): AsyncGenerator<UIEvent[], void> {
    const { session, trace } = this.#options
    const [process] = trace.processes
    if (!process) return
    this.#log.write('info', 'process:adopt', { spool: process.spoolPath })
    const agent = await this.#adopt(process, session.projectRoot)
    try {
      for await (const record of recordsOf(agent)) {
        this.#log.record(record)
        yield [...this.#view.show(record)]
      }
    } finally {
      await agent.close()
    }
  }

  /** The loop is over; what is left of it are its commands. */
  async stop(_reason: StopReason): Promise<void> {
    await this.#stopping
  }

  async end(): Promise<ConnectionEnd> {
    const outcome = this.#view.outcome ?? null
    const error = this.#options.trace.processes.length === 0 ? NEVER_RAN : STOPPED
    this.#log.write('info', 'turn:close', { reason: outcome })
    return {
      events: this.#view.end(),
      outcome,
      isFinished: outcome !== null,
      leftBehind: await this.#stopping,
      fault: { error, code: 'process_crashed', reason: 'crashed' },
    }
  }

  async close(): Promise<void> {
    await this.#stopping
  }

  async #adopt(process: TurnProcess, projectRoot: string): Promise<AgentProcess> {
    try {
      return await adoptAgent({ process, projectRoot, harness: HARNESS_ID })
    } catch (error) {
      throw startFailure(error, MESSAGES_API)
    }
  }
}

const NEVER_RAN = 'Chirality ended before the turn began. Send the message again.'
const STOPPED = 'The turn ended with Chirality. What it did so far is kept; send a message to go on.'

/** Without the last line where a crash cut it off: nobody was told of it. */
async function* recordsOf(agent: AgentProcess): AsyncGenerator<NdjsonRecord> {
  let unsure: NdjsonRecord | undefined
  for await (const output of outputOf(agent)) {
    if (output.kind !== 'record') continue
    if (unsure) yield unsure
    unsure = output.record.kind === 'malformed' ? output.record : undefined
    if (!unsure) yield output.record
  }
}

/** Ends what the commands of a turn left when the program that ran it died. Returns how many processes that were. */
export async function stopCommands(
  processes: readonly TurnProcess[],
  { config, environment }: Pick<MessagesApiContext, 'config' | 'environment'>,
): Promise<number> {
  // What carries a marker that we carry, too, is what we run in.
  const inherited = parseMarkers(environment[MARKER_VARIABLE])
  const others = processes.filter(({ marker }) => !inherited.includes(marker))
  const options = { ...config.stop, interruptGraceMs: 0 }
  const running = await stillRunning(others.map(trace => ({ ...trace, startedAt: trace.startTime })))
  const traced = await Promise.all(running.map(trace => stopTraced(trace, options)))
  const markers = [...new Set(others.map(({ marker }) => marker))]
  const marked = await Promise.all(markers.map(marker => stopByMarker(marker, options)))
  return new Set([...traced, ...marked].flatMap(({ stopped }) => stopped)).size
}
