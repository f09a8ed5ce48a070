import { randomUUID } from 'node:crypto'
import type { HarnessQuery, HarnessTurnOpts, Session } from '@chirality/core'
import { traceProcess } from '../process/traced-process.ts'
import { serveClientTools } from '../tool-server/serve-client-tools.ts'
import type { Connection, TurnParts, TurnPlan } from '../turn/connection.ts'
import type { AgentLaunch, AgentLease, KeptAgents } from '../turn/kept-agents.ts'
import { processPlan, startedAttempts } from '../turn/process-turn.ts'
import { startFailure } from '../turn/start-failure.ts'
import { exitListener, resumeFailed } from '../turn/turn-events.ts'
import { withoutConversation } from '../turn/turn-query.ts'
import type { AppServer } from './app-server/app-server.ts'
import { CODEX, type CodexContext } from './config.ts'
import { CODEX_ID } from './descriptor.ts'
import { execProgram } from './exec/exec-program.ts'
import { checkThread, refuseUnsupported } from './options/check-query.ts'
import { type CodexInput, codexInput } from './options/input.ts'
import { codexMcpServers } from './options/mcp-servers.ts'
import { type CodexListeners, codexPermissions } from './options/permissions.ts'
import { appServerLaunch, codexProgram } from './program/launch.ts'
import { openThreadTurn } from './thread/app-server-turn.ts'

export interface CodexTurnOptions {
  session: Session
  turnId: string
  query: HarnessQuery
  opts: Pick<HarnessTurnOpts, 'decide' | 'guard' | 'onBetweenTurns'>
  context: CodexContext
  pool: KeptAgents<AppServer>
  /** The session's thread is open. */
  onThread(threadId: string): void
}

/** One turn of a session, through the app-server or `exec`. */
export function codexPlan(options: CodexTurnOptions): TurnPlan {
  const { query, context } = options
  if (context.config.voice !== 'exec') return appServerPlan(options)
  const exec = execPlan(options)
  const prompt = async (parts: TurnParts) => {
    check(query)
    return exec.prompt(parts)
  }
  return { ...exec, prompt }
}

function check(query: HarnessQuery): void {
  refuseUnsupported(query)
  checkThread(query)
}

function execPlan({ session, turnId, query, opts, context }: CodexTurnOptions): TurnPlan {
  const program = execProgram(context, listenersOf(opts))
  // `exec fork` copies the whole thread.
  const isUncut = query.forkAt !== undefined
  const source = startedAttempts(isUncut ? withoutConversation(query) : query, program)
  const opening = isUncut ? [resumeFailed(session.id, query.resumeSessionId)] : []
  return processPlan({ program, session, turnId, source, opening })
}

/** Through an app-server, or through `exec` if no app-server is available. */
function appServerPlan(options: CodexTurnOptions): TurnPlan {
  const { session, query, context, opts } = options
  const undo = new Undo()
  const exec = execPlan(options)
  let input: CodexInput | undefined
  let isExec = false
  let lease: AgentLease<AppServer> | undefined
  const read = async (prompt: HarnessQuery['prompt']) => {
    const made = await codexInput(prompt, context.environment)
    undo.add(made.cleanup)
    return made
  }
  return {
    agent: CODEX,
    config: context.config,
    signal: query.signal,
    resumedId: query.resumeSessionId,
    prompt: async () => {
      check(query)
      input = await read(query.prompt)
      return { promptText: input.text, attachments: input.images.length }
    },
    open: async parts => {
      const opened = await openAppServer({
        ...options,
        input: input ?? (await read(query.prompt)),
        read,
        undo,
        parts,
        onLease: acquired => {
          lease = acquired
        },
      })
      if (opened !== 'missing') return opened
      await undo.all(parts)
      isExec = true
      await exec.prompt(parts)
      return exec.open(parts)
    },
    // An app-server opens a new thread by itself if the old one no longer exists.
    get afresh() {
      return isExec ? exec.afresh : undefined
    },
    release: async () => {
      await undo.all()
      await exec.release?.()
    },
    over: () => lease?.afterTurn(exitListener(session.id, CODEX, opts.onBetweenTurns)),
  }
}

interface AppServerOptions extends CodexTurnOptions {
  input: CodexInput
  read(prompt: HarnessQuery['prompt']): Promise<CodexInput>
  undo: Undo
  parts: TurnParts
  onLease(lease: AgentLease<AppServer>): void
}

/** Null if the turn was stopped meanwhile. */
async function openAppServer(options: AppServerOptions): Promise<Connection | null | 'missing'> {
  const { session, query, opts, context, input, read, undo, parts } = options
  const permissions = codexPermissions(query, listenersOf(opts))
  const program = await codexProgram(query, context)
  const served = await serveClientTools(query, CODEX_ID)
  undo.add(served.stop)
  const isApproved = (name: string) => permissions.approval === 'never' || name === served.serverName
  const own = served.serverName
  const { config } = codexMcpServers(served.mcpServers, { values: 'inline', isApproved, own })
  const hasServers = Object.keys(config).length > 0
  // A loaded thread keeps the MCP servers it was opened with, so a turn with servers of its own gets a process of its
  // own.
  const distinct = hasServers ? randomUUID() : ''
  const launch = appServerLaunch(program, context, { projectRoot: session.projectRoot, distinct })
  if (parts.stop.reason) return null
  if (context.config.voice !== 'app-server' && program.features.isSilent) return 'missing'
  const lease = await acquire(launch, options)
  if (!lease) return parts.stop.reason ? null : 'missing'
  options.onLease(lease)
  undo.add(() => lease.release())
  const opened = await openThreadTurn({
    session,
    query,
    lease,
    input,
    read,
    permissions,
    parts,
    threadConfig: hasServers ? { mcp_servers: config } : {},
    guard: opts.guard,
    interruptGraceMs: context.config.stop?.interruptGraceMs ?? INTERRUPT_GRACE_MS,
  })
  if (!opened) return null
  options.onThread(opened.threadId)
  return opened.turn
}

/** Null if the turn was stopped meanwhile, or if no app-server is available and `exec` can run the turn. */
async function acquire(
  launch: AgentLaunch<AppServer>,
  { session, query, context, pool, parts: { stop, log } }: AppServerOptions,
): Promise<AgentLease<AppServer> | null> {
  try {
    const { resumeSessionId: conversation } = query
    return await pool.acquire({ sessionId: session.id, conversation, launch, signal: stop.signal })
  } catch (error) {
    if (stop.reason) return null
    const failure = startFailure(error, CODEX)
    if (context.config.voice === 'app-server' || failure.code !== 'process_crashed') throw failure
    log.write('warn', 'app-server:missing', { error: failure.message })
    return null
  }
}

/** Undoes the preparation of a turn in reverse order. */
class Undo {
  readonly #steps: (() => unknown)[] = []

  add(step: () => unknown): void {
    this.#steps.push(step)
  }

  /** A failing clean-up step must not keep the turn from ending. */
  async all(parts?: TurnParts): Promise<void> {
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      try {
        await step()
      } catch (error) {
        parts?.log.write('error', 'turn:release', { error: String(error) })
      }
    }
  }
}

const INTERRUPT_GRACE_MS = 5_000

function listenersOf({ decide, guard }: Pick<HarnessTurnOpts, 'decide' | 'guard'>): CodexListeners {
  return { asks: decide !== undefined, hasRules: guard?.hasRules, protects: guard?.protects }
}

export interface PrewarmOptions {
  session: Session
  context: CodexContext
  pool: KeptAgents<AppServer>
  signal: AbortSignal
  onProcess: HarnessTurnOpts['onProcess']
}

/** Starts an app-server for the turn ahead of time. It is kept as long as any idle one. */
export async function prewarmCodex(query: HarnessQuery, options: PrewarmOptions): Promise<void> {
  const { session, context, pool, signal, onProcess } = options
  const hasServers = Object.keys(query.mcpServers ?? {}).length > 0 || (query.clientTools?.length ?? 0) > 0
  if (hasServers) return
  const { projectRoot, id: sessionId } = session
  const program = await codexProgram(query, context)
  if (program.features.isSilent) return
  const launch = appServerLaunch(program, context, { projectRoot, distinct: '' })
  const { resumeSessionId: conversation } = query
  const lease = await pool.acquire({ sessionId, conversation, launch, signal })
  try {
    onProcess?.(await traceProcess(lease.agent.process))
  } finally {
    await lease.release()
  }
}
