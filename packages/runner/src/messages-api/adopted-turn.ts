import type { NdjsonRecord, Session, TurnEndReason, TurnProcess, TurnTrace, UIEvent } from '@chirality/core'
import { adoptAgent } from '../process/adopt-agent.ts'
import type { AgentProcess } from '../process/agent-process.ts'
import { HarnessLog } from '../turn/harness-log.ts'
import { startFailure } from '../turn/start-failure.ts'
import { failed, leftBehind, turnStart } from '../turn/turn-events.ts'
import { HARNESS_ID, MESSAGES_API, type MessagesApiContext } from './config.ts'
import { stopCommands } from './stop-commands.ts'
import { TurnView } from './turn-view.ts'

export interface AdoptedTurnOptions {
  session: Session
  trace: TurnTrace
  context: MessagesApiContext
}

/**
 * A turn whose loop ended with the Chirality that ran it: what it did is told from its raw log, and it ends as its last
 * words say. Its commands may still run, and nobody waits for them.
 */
export class AdoptedTurn {
  readonly lastEvent = 'turn:end'
  readonly #options: AdoptedTurnOptions
  readonly #log: HarnessLog
  #stopping: Promise<number> | undefined

  constructor(options: AdoptedTurnOptions) {
    this.#options = options
    this.#log = new HarnessLog(options.context.config, options.session.id)
  }

  /** It is being ended as it is. */
  interrupt(): void {}

  async kill(): Promise<void> {
    await this.#stopCommands()
  }

  async *events(): AsyncGenerator<UIEvent> {
    const { session, trace } = this.#options
    const { message: promptText, attachments = 0 } = trace
    yield turnStart(session.id, { promptText, attachments })
    const reason = yield* this.#tell(trace.processes[0])
    this.#log.write('info', 'turn:close', { reason })
    yield { type: 'turn:end', sessionId: session.id, reason }
  }

  async *#tell(process: TurnProcess | undefined): AsyncGenerator<UIEvent, TurnEndReason> {
    const { id: sessionId } = this.#options.session
    const view = new TurnView(sessionId)
    let failure: unknown = process === undefined ? NEVER_RAN : STOPPED
    const stopping = this.#stopCommands()
    try {
      if (process) yield* this.#replay(process, view)
    } catch (error) {
      this.#log.write('error', 'turn:error', { error: String(error) })
      failure = startFailure(error, MESSAGES_API)
    }
    yield* view.end()
    const count = await stopping
    if (count > 0) yield leftBehind(sessionId, count)
    if (view.outcome) return view.outcome
    yield failed(sessionId, failure)
    return 'crashed'
  }

  async *#replay(process: TurnProcess, view: TurnView): AsyncGenerator<UIEvent> {
    const { projectRoot } = this.#options.session
    this.#log.write('info', 'process:adopt', { spool: process.spoolPath })
    const agent = await adoptAgent({ process, projectRoot, harness: HARNESS_ID })
    try {
      for await (const record of recordsOf(agent)) {
        this.#log.record(record)
        yield* view.show(record)
      }
    } finally {
      await agent.close()
    }
  }

  #stopCommands(): Promise<number> {
    const { trace, context } = this.#options
    this.#stopping ??= stopCommands(trace.processes, context).catch((error: unknown) => {
      this.#log.write('error', 'process:left', { error: String(error) })
      return 0
    })
    return this.#stopping
  }
}

const NEVER_RAN = 'Chirality ended before the turn began. Send the message again.'
const STOPPED = 'The turn ended with Chirality. What it did so far is kept; send a message to go on.'

/** Without the last line where a crash cut it off: nobody was told of it. */
async function* recordsOf(agent: AgentProcess): AsyncGenerator<NdjsonRecord> {
  let unsure: NdjsonRecord | undefined
  for await (const output of agent.output()) {
    if (output.kind !== 'record') continue
    if (unsure) yield unsure
    unsure = output.record.kind === 'malformed' ? output.record : undefined
    if (!unsure) yield output.record
  }
}
