import type { Session, TurnEndReason, TurnProcess, TurnTrace, UIEvent } from '@chirality/core'
import { adoptAgent } from '../process/adopt-agent.ts'
import type { AgentProcess } from '../process/agent-process.ts'
import { stopTraced } from '../process/stop-leftovers.ts'
import type { HarnessLog } from '../turn/harness-log.ts'
import { startFailure } from '../turn/start-failure.ts'
import { failed, turnStart } from '../turn/turn-events.ts'
import { type TurnNote, TurnNotes } from '../turn/turn-notes.ts'
import { CODEX, type CodexContext, HARNESS_ID } from './config.ts'
import { toThreadMessage } from './spool-cursor.ts'
import { ThreadFamilies } from './thread-families.ts'
import { endsTurn, type ThreadItem } from './thread-item.ts'
import { type ThreadTurnFacts, ThreadView } from './thread-view.ts'

export interface AdoptedTurnOptions {
  session: Session
  trace: TurnTrace
  process: TurnProcess
  context: CodexContext
  log: HarnessLog
}

/**
 * A turn on the app-server of a Chirality that is gone. The server ends with whoever started it, so there is nothing to
 * go on with: what it said of the thread is told, and the turn ends as its last words say.
 */
export class AdoptedAppServerTurn {
  readonly lastEvent = 'turn:end'
  readonly #options: AdoptedTurnOptions
  readonly #notes: TurnNotes

  constructor(options: AdoptedTurnOptions) {
    this.#options = options
    this.#notes = new TurnNotes({ spoolPath: options.process.spoolPath, turnId: options.trace.turnId })
  }

  /** It is being ended as it is. */
  interrupt(): void {}

  async kill(): Promise<void> {
    await stopTraced(this.#options.process, this.#options.context.config.stop)
  }

  async *events(): AsyncGenerator<UIEvent> {
    const { session, trace } = this.#options
    const { message: promptText, attachments = 0 } = trace
    yield turnStart(session.id, { promptText, attachments })
    const reason = yield* this.#replay()
    yield { type: 'turn:end', sessionId: session.id, reason }
    // Not before its end was taken: killed in between, the next Chirality would tell the turn with other facts.
    await this.#notes.remove()
  }

  async *#replay(): AsyncGenerator<UIEvent, TurnEndReason> {
    const { session, process, context, log } = this.#options
    let agent: AgentProcess | undefined
    try {
      log.write('info', 'process:adopt', { pid: process.pid, spool: process.spoolPath })
      agent = await adoptAgent({ process, projectRoot: session.projectRoot, harness: HARNESS_ID })
      // Nobody can talk to it any more. Other sessions may be told the same of it.
      await agent.stop({ ...context.config.stop, interruptGraceMs: 0 })
      const { facts, notes } = await this.#notes.read()
      const known = knownFacts(session, facts)
      if (known === undefined) throw new Error('It is not known which thread of Codex the turn was in.')
      const view = new ThreadView(session, known)
      yield* view.opening()
      for await (const item of itemsOf(agent, known, notes)) yield* view.show(item)
      yield* view.end()
      if (view.outcome) return view.outcome
      yield failed(session.id, agent.fault === null ? STOPPED : `${STOPPED} ${agent.fault}`)
    } catch (error) {
      await this.kill()
      yield failed(session.id, startFailure(error, CODEX))
    } finally {
      await agent?.close()
    }
    return 'crashed'
  }
}

const STOPPED = 'Chirality was ended while Codex worked, and Codex ended with it. What it did so far is kept.'

/** Without its notes a turn is told as far as the session knows of it. */
function knownFacts(
  { claudeSessionId, projectRoot }: Session,
  facts: Partial<ThreadTurnFacts>,
): ThreadTurnFacts | undefined {
  const threadId = facts.threadId ?? claudeSessionId
  return threadId === null ? undefined : { model: 'unknown', cwd: projectRoot, ...facts, threadId }
}

/** What was told of the turn, in the same order: of its thread out of the spool, and of ours between. */
async function* itemsOf(
  agent: AgentProcess,
  { threadId, news }: ThreadTurnFacts,
  notes: TurnNote[],
): AsyncGenerator<ThreadItem> {
  const { from = 0, unheard = [], children = [] } = news ?? {}
  const families = new ThreadFamilies()
  families.adopt(threadId, children)
  for await (const output of agent.output()) {
    const message = output.kind === 'record' ? toThreadMessage(output.record) : undefined
    if (!message) continue
    const isOurs = families.isFor(threadId, message.raw)
    if (message.offset < from ? !unheard.includes(message.offset) : !isOurs) continue
    yield* recall(notes, message.offset)
    yield { kind: 'message', ...message }
    if (endsTurn(message.raw, threadId, null)) return
  }
  yield* recall(notes, Number.POSITIVE_INFINITY)
}

function* recall(notes: TurnNote[], offset: number): Generator<ThreadItem> {
  for (let note = notes[0]; note !== undefined && note.after < offset; note = notes[0]) {
    notes.shift()
    yield { kind: 'told', event: note.event as (ThreadItem & { kind: 'told' })['event'] }
  }
}
