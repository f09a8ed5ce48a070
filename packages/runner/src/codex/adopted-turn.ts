import type { Session, TurnProcess, TurnTrace } from '@chirality/core'
import { adoptAgent } from '../process/adopt-agent.ts'
import type { AgentProcess } from '../process/agent-process.ts'
import { stopTraced } from '../process/traced-process.ts'
import type { TurnParts, TurnPlan } from '../turn/connection.ts'
import { adoptedAttempts, processPlan } from '../turn/process-turn.ts'
import { type EndedAgent, toldPlan } from '../turn/told-turn.ts'
import { isAppServerSpool } from './app-server/app-server.ts'
import { toThreadMessage } from './app-server/spool-cursor.ts'
import { ThreadFamilies } from './app-server/thread-families.ts'
import { endsTurn } from './app-server/thread-message.ts'
import { CODEX, type CodexContext } from './config.ts'
import { CODEX_ID } from './descriptor.ts'
import { execProgram } from './exec/exec-program.ts'
import { type ThreadTurnFacts, ThreadView } from './thread/thread-view.ts'

export interface AdoptedCodexOptions {
  session: Session
  trace: TurnTrace
  signal: AbortSignal | undefined
  context: CodexContext
}

/** A turn that a previous server started, through an app-server or `exec`. */
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

/** An app-server exits with the process that started it, so there is no running turn to continue. */
function adoptedThreadPlan(options: AdoptedThreadOptions): TurnPlan {
  const { trace, context } = options
  const find = (parts: TurnParts) => findThread(parts, options)
  return toldPlan({ agent: CODEX, config: context.config, trace, find })
}

async function findThread(
  { record, log }: TurnParts,
  { session, process: traced, context }: AdoptedThreadOptions,
): Promise<EndedAgent> {
  const { stop } = context.config
  let process: AgentProcess | undefined
  try {
    log.write('info', 'process:adopt', { pid: traced.pid, spool: traced.spoolPath })
    process = await adoptAgent({ process: traced, projectRoot: session.projectRoot, harness: CODEX_ID })
    // No process can talk to it any more. Other sessions may find the same server.
    await process.stop({ ...stop, interruptGraceMs: 0 })
    const { facts, notes } = await record.resume(traced.spoolPath)
    const known = knownFacts(session, facts)
    if (known === undefined)
      throw new Error('The record of the turn names no Codex thread, so the turn cannot be continued.')
    return { ...endedThread(session, known, process), notes, stop: () => stopTraced(traced, stop) }
  } catch (error) {
    await stopTraced(traced, stop)
    await process?.close()
    throw error
  }
}

function endedThread(
  session: Session,
  facts: ThreadTurnFacts,
  process: AgentProcess,
): Omit<EndedAgent, 'stop'> {
  const { threadId, news } = facts
  const { from = 0, unheard = [], children = [] } = news ?? {}
  const view = new ThreadView(session, facts)
  const families = new ThreadFamilies()
  families.adopt(threadId, children)
  return {
    process,
    opening: [...view.opening()],
    onNote: event => {
      if (event.type === 'permission:resolved') view.answered(event.requestId)
    },
    show: record => {
      const message = toThreadMessage(record)
      if (!message) return undefined
      const isOurs = families.isFor(threadId, message.raw)
      if (message.offset < from ? !unheard.includes(message.offset) : !isOurs) return undefined
      return { events: view.show(message.raw), isLast: endsTurn(message.raw, threadId, null) }
    },
    end: () => view.end(),
    outcome: () => view.outcome,
    fault: () => (process.fault === null ? STOPPED : `${STOPPED} ${process.fault}`),
  }
}

const STOPPED = 'Chirality was ended while Codex worked, and Codex ended with it. What it did so far is kept.'

/** Without its notes a turn is restored as far as the session's log knows it. */
function knownFacts(
  { claudeSessionId, projectRoot, workFolder = projectRoot }: Session,
  facts: Partial<ThreadTurnFacts>,
): ThreadTurnFacts | undefined {
  const threadId = facts.threadId ?? claudeSessionId
  return threadId === null ? undefined : { model: 'unknown', cwd: workFolder, ...facts, threadId }
}
