import type { Session, TurnProcess, TurnTrace, UIEvent } from '@chirality/core'
import { adoptAgent } from '../process/adopt-agent.ts'
import { type AgentProcess, outputOf } from '../process/agent-process.ts'
import { stopTraced } from '../process/traced-process.ts'
import { recall, type TurnNote } from '../turn/adoption-record.ts'
import type { Connection, ConnectionEnd, TurnParts, TurnPlan } from '../turn/connection.ts'
import { adoptedAttempts, processPlan } from '../turn/process-turn.ts'
import { isAppServerSpool } from './app-server/app-server.ts'
import { toThreadMessage } from './app-server/spool-cursor.ts'
import { ThreadFamilies } from './app-server/thread-families.ts'
import { endsTurn } from './app-server/thread-message.ts'
import { CODEX, type CodexContext } from './config.ts'
import { HARNESS_ID } from './descriptor.ts'
import { execProgram } from './exec/exec-program.ts'
import { type ThreadTurnFacts, ThreadView } from './thread/thread-view.ts'

export interface AdoptedCodexOptions {
  session: Session
  trace: TurnTrace
  signal: AbortSignal | undefined
  context: CodexContext
}

/** A turn of an earlier Chirality, in whichever voice it was. */
export function adoptedCodexPlan(options: AdoptedCodexOptions): TurnPlan {
  const { session, trace, signal, context } = options
  const process = trace.processes.find(({ spoolPath }) => isAppServerSpool(spoolPath))
  if (process) return adoptedThreadPlan({ ...options, process })
  const program = execProgram(context)
  return processPlan({ program, session, turnId: trace.turnId, source: adoptedAttempts(trace, signal) })
}

interface AdoptedThreadOptions extends AdoptedCodexOptions {
  process: TurnProcess
}

/**
 * A turn on the app-server of a Chirality that is gone. The server ends with whoever started it, so there is nothing to
 * go on with: what it said of the thread is told, and the turn ends as its last words say.
 */
function adoptedThreadPlan(options: AdoptedThreadOptions): TurnPlan {
  const { trace, context } = options
  const { message: promptText, attachments = 0 } = trace
  return {
    agent: CODEX,
    config: context.config,
    // It is being ended as it is.
    signal: new AbortController().signal,
    hasBegun: true,
    prompt: async () => ({ promptText, attachments }),
    open: parts => adoptThread(parts, options),
  }
}

async function adoptThread(
  { record, log }: TurnParts,
  { session, process, context }: AdoptedThreadOptions,
): Promise<AdoptedThread> {
  const { stop } = context.config
  let agent: AgentProcess | undefined
  try {
    log.write('info', 'process:adopt', { pid: process.pid, spool: process.spoolPath })
    agent = await adoptAgent({ process, projectRoot: session.projectRoot, harness: HARNESS_ID })
    // Nobody can talk to it any more. Other sessions may be told the same of it.
    await agent.stop({ ...stop, interruptGraceMs: 0 })
    const { facts, notes } = await record.resume(process.spoolPath)
    const known = knownFacts(session, facts)
    if (known === undefined)
      throw new Error('The record of the turn names no Codex thread, so the turn cannot be continued.')
    return new AdoptedThread({ session, agent, facts: known, notes, kill: () => stopTraced(process, stop) })
  } catch (error) {
    await stopTraced(process, stop)
    await agent?.close()
    throw error
  }
}

interface AdoptedThreadParts {
  session: Session
  agent: AgentProcess
  facts: ThreadTurnFacts
  notes: TurnNote[]
  kill(): Promise<unknown>
}

class AdoptedThread implements Connection {
  readonly hasBegun = true
  readonly isQuiet = true
  readonly #parts: AdoptedThreadParts
  readonly #view: ThreadView
  #offset = -1

  constructor(parts: AdoptedThreadParts) {
    this.#parts = parts
    this.#view = new ThreadView(parts.session, parts.facts)
  }

  get offset(): number {
    return this.#offset
  }

  /** What was told of the turn, in the same order: of its thread out of the spool, and of ours between. */
  async *batches(): AsyncGenerator<UIEvent[], void> {
    const { agent, facts } = this.#parts
    const { threadId, news } = facts
    const { from = 0, unheard = [], children = [] } = news ?? {}
    const families = new ThreadFamilies()
    families.adopt(threadId, children)
    yield [...this.#view.opening(), ...this.#recall(0)]
    for await (const output of outputOf(agent)) {
      const message = output.kind === 'record' ? toThreadMessage(output.record) : undefined
      if (!message) continue
      const isOurs = families.isFor(threadId, message.raw)
      if (message.offset < from ? !unheard.includes(message.offset) : !isOurs) continue
      this.#offset = message.offset
      const isEnd = endsTurn(message.raw, threadId, null)
      yield [...this.#view.show(message.raw), ...(isEnd ? [] : this.#recall(message.offset + 1))]
      if (isEnd) return
    }
    yield this.#recall(Number.POSITIVE_INFINITY)
  }

  async stop(): Promise<void> {
    await this.#parts.kill()
  }

  async end(failure?: { error: unknown }): Promise<ConnectionEnd> {
    if (failure) await this.#parts.kill()
    const { fault } = this.#parts.agent
    const { outcome } = this.#view
    return {
      events: this.#view.end(),
      outcome,
      isFinished: outcome !== null,
      fault: {
        error: fault === null ? STOPPED : `${STOPPED} ${fault}`,
        code: 'process_crashed',
        reason: 'crashed',
      },
    }
  }

  close(): Promise<void> {
    return this.#parts.agent.close()
  }

  #recall(offset: number): UIEvent[] {
    const events = recall(this.#parts.notes, offset)
    for (const event of events) if (event.type === 'permission:resolved') this.#view.answered(event.requestId)
    return events
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
