import { randomUUID } from 'node:crypto'
import type { HarnessQuery, HarnessTurnOpts, Session, UIEvent } from '@chirality/core'
import { serveClientTools } from '../tool-server/serve-client-tools.ts'
import { ProcessTurn } from '../turn/process-turn.ts'
import { startFailure } from '../turn/start-failure.ts'
import type { StopReason } from '../turn/turn-events.ts'
import type { AppServerLease, AppServerPool } from './app-server-pool.ts'
import { AppServerTurn } from './app-server-turn.ts'
import { CODEX, type CodexContext, HARNESS_ID } from './config.ts'
import { execProgram } from './exec-program.ts'
import { codexInput } from './input.ts'
import { appServerLaunch, codexProgram } from './launch.ts'
import { codexMcpServers } from './mcp-servers.ts'
import { codexPermissions } from './permissions.ts'
import { refuseUnsupported } from './unsupported.ts'

export interface CodexTurnOptions {
  session: Session
  query: HarnessQuery
  opts: Pick<HarnessTurnOpts, 'turnId' | 'decide' | 'stallMs'>
  context: CodexContext
  pool: AppServerPool
}

/** One turn of a session, through whichever voice Codex has. */
export class CodexTurn {
  readonly #options: CodexTurnOptions
  #voice: AppServerTurn | ProcessTurn | null = null
  #stopped: 'interrupt' | 'kill' | null = null

  constructor(options: CodexTurnOptions) {
    this.#options = options
  }

  interrupt(): void {
    this.#stopped ??= 'interrupt'
    this.#voice?.interrupt()
  }

  kill(): void {
    this.#stopped = 'kill'
    this.#voice?.kill()
  }

  /** False when the voice cannot take more input while a turn runs. */
  async steer(text: string): Promise<boolean> {
    if (!(this.#voice instanceof AppServerTurn)) return false
    await this.#voice.steer(text)
    return true
  }

  async *events(): AsyncGenerator<UIEvent> {
    const { query, context } = this.#options
    refuseUnsupported(query)
    if (context.config.voice === 'exec') yield* this.#overExec()
    else yield* this.#overAppServer()
  }

  async *#overExec(): AsyncGenerator<UIEvent> {
    const { session, query, opts, context } = this.#options
    const turnId = opts.turnId ?? randomUUID()
    const program = execProgram(context)
    const turn = new ProcessTurn({ program, session, turnId, query, stallMs: opts.stallMs })
    yield* this.#speak(turn)
  }

  async *#overAppServer(): AsyncGenerator<UIEvent> {
    const { session, query, opts, context, pool } = this.#options
    const permissions = codexPermissions(query)
    const undo: (() => unknown)[] = []
    try {
      const input = await codexInput(query.prompt)
      undo.push(input.cleanup)
      const program = await codexProgram(query, context)
      const served = await serveClientTools(query, HARNESS_ID)
      undo.push(served.stop)
      const isApproved = (name: string) => permissions.approval === 'never' || name === served.serverName
      const { config } = codexMcpServers(served.mcpServers, { tokens: 'inline', isApproved })
      const hasServers = Object.keys(config).length > 0
      // A loaded thread keeps the servers it was opened with: one with servers of its own gets a process of its own.
      const distinct = hasServers ? randomUUID() : ''
      const launch = appServerLaunch(program, context, { projectRoot: session.projectRoot, distinct })
      const lease = await this.#acquire(pool, launch, hasServers)
      if (!lease) return yield* this.#overExec()
      undo.push(() => lease.release())
      const turn = new AppServerTurn({
        session,
        query,
        lease,
        input,
        permissions,
        threadConfig: hasServers ? { mcp_servers: config } : {},
        decide: opts.decide,
        stallMs: opts.stallMs ?? STALL_MS,
        interruptGraceMs: context.config.stop?.interruptGraceMs ?? INTERRUPT_GRACE_MS,
      })
      yield* this.#speak(turn)
    } finally {
      for (const step of undo.reverse()) await step()
    }
  }

  /** Null when there is no app-server to be had, and `exec` may do instead. */
  async #acquire(
    pool: AppServerPool,
    launch: ReturnType<typeof appServerLaunch>,
    isShortLived: boolean,
  ): Promise<AppServerLease | null> {
    const { session, context } = this.#options
    try {
      return await pool.acquire(session.id, { ...launch, isShortLived })
    } catch (error) {
      const failure = startFailure(error, CODEX)
      if (context.config.voice === 'app-server' || failure.code !== 'process_crashed') throw failure
      context.config.onLog?.({ level: 'warn', event: 'app-server:missing', data: { error: failure.message } })
      return null
    }
  }

  async *#speak(turn: AppServerTurn | ProcessTurn): AsyncGenerator<UIEvent> {
    this.#voice = turn
    // Asked for while the agent was being started.
    if (this.#stopped === 'kill') turn.kill()
    else if (this.#stopped) turn.interrupt()
    if (turn instanceof ProcessTurn) return yield* turn.events()
    const { signal } = this.#options.query
    const reason = (): StopReason => (signal.reason?.name === 'TimeoutError' ? 'timeout' : 'interrupted')
    const onAbort = () => turn.interrupt(reason())
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      if (signal.aborted) onAbort()
      yield* turn.events()
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }
}

const STALL_MS = 120_000
const INTERRUPT_GRACE_MS = 5_000
