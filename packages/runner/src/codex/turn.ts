import { randomUUID } from 'node:crypto'
import type { HarnessQuery, HarnessTurnOpts, Session, TurnEndEvent, UIEvent } from '@chirality/core'
import { serveClientTools } from '../tool-server/serve-client-tools.ts'
import { startedAttempts } from '../turn/attempt-source.ts'
import { HarnessLog } from '../turn/harness-log.ts'
import { processTurn } from '../turn/process-turn.ts'
import { startFailure } from '../turn/start-failure.ts'
import type { Turn } from '../turn/turn.ts'
import { resumeFailed, STALL_MS, type StopReason, stopped, turnStart } from '../turn/turn-events.ts'
import { withoutConversation } from '../turn/turn-query.ts'
import type { AppServerLaunch, AppServerLease, AppServerPool } from './app-server-pool.ts'
import { AppServerTurn } from './app-server-turn.ts'
import { CODEX, type CodexContext, HARNESS_ID } from './config.ts'
import { execProgram } from './exec-program.ts'
import { type CodexInput, codexInput } from './input.ts'
import { appServerLaunch, codexProgram } from './launch.ts'
import { codexMcpServers } from './mcp-servers.ts'
import { type CodexListeners, codexPermissions } from './permissions.ts'
import { checkThread } from './thread-id.ts'
import { refuseUnsupported } from './unsupported.ts'

export interface CodexTurnOptions {
  session: Session
  query: HarnessQuery
  opts: Pick<HarnessTurnOpts, 'turnId' | 'decide' | 'guard' | 'stallMs' | 'onProcess'>
  context: CodexContext
  pool: AppServerPool
}

/** One turn of a session, through whichever voice Codex has. */
export class CodexTurn {
  readonly #options: CodexTurnOptions
  readonly #log: HarnessLog
  #voice: AppServerTurn | Turn | null = null
  #stopReason: StopReason | null = null
  readonly #stopping = new AbortController()
  /** The wait for a server. */
  #acquiring: Promise<unknown> = Promise.resolve()
  readonly #undo: (() => unknown)[] = []

  constructor(options: CodexTurnOptions) {
    this.#options = options
    this.#log = new HarnessLog(options.context.config, options.session.id)
  }

  interrupt(): void {
    void this.#stop('interrupted')
  }

  /** Resolves when what ran for it alone is gone. */
  async kill(): Promise<void> {
    await this.#stop('killed')
    await this.#acquiring.catch(() => {})
  }

  /** False when the voice cannot take more input while a turn runs, or none runs yet. */
  async steer(prompt: HarnessQuery['prompt']): Promise<boolean> {
    const voice = this.#voice
    if (!(voice instanceof AppServerTurn)) return false
    const input = await codexInput(prompt, this.#options.context.environment)
    // Codex may read its files at any time while the turn runs.
    this.#undo.push(input.cleanup)
    const isTaken = await voice.steer(input)
    if (!isTaken) await input.cleanup()
    return isTaken
  }

  /** What is wrong before the start throws. The last event is `turn:end`, or `process:exit` where `exec` was used. */
  async *events(): AsyncGenerator<UIEvent> {
    const { query, context } = this.#options
    refuseUnsupported(query)
    checkThread(query)
    if (context.config.voice === 'exec') return yield* this.#overExec()
    try {
      const end = yield* this.#overAppServer()
      if (end) yield end
      else yield* this.#overExec()
    } finally {
      const voice = this.#voice
      if (voice instanceof AppServerTurn) await this.#try(() => voice.forget())
    }
  }

  get lastEvent(): UIEvent['type'] {
    return this.#voice?.lastEvent ?? 'turn:end'
  }

  async *#overExec(): AsyncGenerator<UIEvent> {
    const { session, query, opts, context } = this.#options
    const turnId = opts.turnId ?? randomUUID()
    const program = execProgram(context, listenersOf(opts))
    // `exec fork` takes all of a thread.
    const isUncut = query.forkAt !== undefined
    const source = startedAttempts(isUncut ? withoutConversation(query) : query, program)
    const turn = processTurn({ program, session, turnId, opts, source })
    this.#speakThrough(turn)
    for await (const event of turn.events()) {
      yield event
      if (isUncut && event.type === 'turn:start') yield resumeFailed(session.id, query.resumeSessionId)
    }
  }

  /** Returns the turn's end, or null when there is no app-server to be had and `exec` has to do. */
  async *#overAppServer(): AsyncGenerator<UIEvent, TurnEndEvent | null> {
    const { session, query, opts, context } = this.#options
    const { signal } = query
    const undo = this.#undo
    const onAbort = () => void this.#stop(signal.reason?.name === 'TimeoutError' ? 'timeout' : 'interrupted')
    signal.addEventListener('abort', onAbort, { once: true })
    undo.push(() => signal.removeEventListener('abort', onAbort))
    try {
      if (signal.aborted) onAbort()
      const permissions = codexPermissions(query, listenersOf(opts))
      const input = await codexInput(query.prompt, context.environment)
      undo.push(input.cleanup)
      const program = await codexProgram(query, context)
      const served = await serveClientTools(query, HARNESS_ID)
      undo.push(served.stop)
      const isApproved = (name: string) => permissions.approval === 'never' || name === served.serverName
      const own = served.serverName
      const { config } = codexMcpServers(served.mcpServers, { values: 'inline', isApproved, own })
      const hasServers = Object.keys(config).length > 0
      // A loaded thread keeps the servers it was opened with: one with servers of its own gets a process of its own.
      const distinct = hasServers ? randomUUID() : ''
      const launch = appServerLaunch(program, context, { projectRoot: session.projectRoot, distinct })
      if (this.#stopReason) return yield* this.#notStarted(input, this.#stopReason)
      if (context.config.voice !== 'app-server' && program.features.isSilent) return null
      const lease = await this.#acquire({ ...launch, isShortLived: hasServers })
      if (!lease) return this.#stopReason ? yield* this.#notStarted(input, this.#stopReason) : null
      undo.push(() => lease.release())
      const turn = new AppServerTurn({
        session,
        query,
        lease,
        input,
        permissions,
        threadConfig: hasServers ? { mcp_servers: config } : {},
        turnId: opts.turnId ?? randomUUID(),
        log: this.#log,
        decide: opts.decide,
        guard: opts.guard,
        onProcess: opts.onProcess,
        stallMs: opts.stallMs ?? STALL_MS,
        interruptGraceMs: context.config.stop?.interruptGraceMs ?? INTERRUPT_GRACE_MS,
      })
      this.#speakThrough(turn)
      return yield* turn.events()
    } finally {
      for (let step = undo.pop(); step; step = undo.pop()) await this.#try(step)
    }
  }

  /** Null when the turn was stopped meanwhile, or when there is no app-server to be had and `exec` may do instead. */
  async #acquire(launch: AppServerLaunch): Promise<AppServerLease | null> {
    const { session, query, context, pool } = this.#options
    try {
      const tenant = { sessionId: session.id, threadId: query.resumeSessionId }
      const acquiring = pool.acquire(tenant, launch, this.#stopping.signal)
      this.#acquiring = acquiring
      return await acquiring
    } catch (error) {
      if (this.#stopReason) return null
      const failure = startFailure(error, CODEX)
      if (context.config.voice === 'app-server' || failure.code !== 'process_crashed') throw failure
      this.#log.write('warn', 'app-server:missing', { error: failure.message })
      return null
    }
  }

  *#notStarted({ text, images }: CodexInput, reason: StopReason): Generator<UIEvent, TurnEndEvent> {
    const sessionId = this.#options.session.id
    yield turnStart(sessionId, { promptText: text, attachments: images.length })
    yield stopped(sessionId, reason)
    return { type: 'turn:end', sessionId, reason }
  }

  #speakThrough(voice: AppServerTurn | Turn): void {
    this.#voice = voice
    // Asked for while the agent was being started.
    if (this.#stopReason) void this.#stop(this.#stopReason)
  }

  async #stop(reason: StopReason): Promise<void> {
    if (!this.#stopReason || reason === 'killed') this.#stopReason = reason
    this.#stopping.abort()
    if (this.#stopReason === 'killed') await this.#voice?.kill()
    else if (this.#voice instanceof AppServerTurn) this.#voice.interrupt(this.#stopReason)
    // Of a timeout it hears by itself, from the signal.
    else if (reason === 'interrupted') this.#voice?.interrupt()
  }

  /** A clean-up that fails must not keep the turn from its end. */
  async #try(step: () => unknown): Promise<void> {
    try {
      await step()
    } catch (error) {
      this.#log.write('error', 'turn:release', { error: String(error) })
    }
  }
}

const INTERRUPT_GRACE_MS = 5_000

function listenersOf({ decide, guard }: Pick<HarnessTurnOpts, 'decide' | 'guard'>): CodexListeners {
  return { asks: decide !== undefined, hasRules: guard?.hasRules, protects: guard?.protects }
}
