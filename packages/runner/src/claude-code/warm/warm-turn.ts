import type { HarnessQuery, HarnessTurnOpts, Session, TurnEndReason, UIEvent } from '@chirality/core'
import { traceProcess } from '../../process/trace-process.ts'
import { versionNotice } from '../../turn/agent-version.ts'
import { HarnessLog } from '../../turn/harness-log.ts'
import { startFailure } from '../../turn/start-failure.ts'
import {
  describeExit,
  failed,
  leftBehind,
  noResult,
  resumeFailed,
  STALL_MS,
  type StopReason,
  stopped,
  turnStart,
} from '../../turn/turn-events.ts'
import { TurnNotes } from '../../turn/turn-notes.ts'
import type { AgentName } from '../../turn/turn-program.ts'
import { withoutConversation } from '../../turn/turn-query.ts'
import { type ClaudeContext, PLAIN_VARIANT } from '../config.ts'
import { usageFailure } from '../features.ts'
import { type PromptMessage, promptMessage } from '../prompt.ts'
import { LINGER_MS } from '../rest.ts'
import type { LiveClaude, LiveEnd } from './live-claude.ts'
import { liveLaunch } from './live-launch.ts'
import type { LiveLease, LivePool } from './live-pool.ts'
import { LiveTurn } from './live-turn.ts'

export interface WarmTurnOptions {
  session: Session
  turnId: string
  query: HarnessQuery
  opts: Pick<HarnessTurnOpts, 'decide' | 'guard' | 'stallMs' | 'onProcess'>
  context: ClaudeContext
  pool: LivePool
}

/**
 * One turn of a session in the process that its session keeps. The process goes on, so `turn:end` is the last event; when the
 * process ended in the turn, or was ended with it, `process:exit` follows.
 */
export class WarmTurn {
  readonly #options: WarmTurnOptions
  readonly #log: HarnessLog
  #lease: LiveLease | null = null
  #turn: LiveTurn | null = null
  #notes: TurnNotes | null = null
  #stopReason: StopReason | null = null
  #exit: LiveEnd | null = null
  /** What the agent said when it no longer had the conversation. */
  #resumeError = ''
  readonly #stopping = new AbortController()

  constructor(options: WarmTurnOptions) {
    this.#options = options
    this.#log = new HarnessLog(options.context.config, options.session.id)
  }

  get lastEvent(): UIEvent['type'] {
    return this.#exit ? 'process:exit' : 'turn:end'
  }

  /** By a request to the agent; if that is not heeded, by signals. */
  interrupt(): void {
    void this.#stop('interrupted')
  }

  /** Resolves when the process is gone with everything that it started. */
  async kill(): Promise<void> {
    await this.#stop('killed')
  }

  async steer(message: HarnessQuery['prompt']): Promise<boolean> {
    const turn = this.#turn
    if (!turn) return false
    const { content, text } = await promptMessage(message, this.#agent)
    return turn.steer(content, text)
  }

  /** What is wrong before the start throws, so that no turn begins. After `turn:start` every way out is an event. */
  async *events(): AsyncGenerator<UIEvent> {
    const startedAt = performance.now()
    const { query, session } = this.#options
    const { signal } = query
    const onAbort = () => void this.#stop(signal.reason?.name === 'TimeoutError' ? 'timeout' : 'interrupted')
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      if (signal.aborted) onAbort()
      const message = await promptMessage(query.prompt, this.#agent)
      const lease = this.#stopReason ? null : await this.#acquire(query)
      yield turnStart(session.id, { promptText: message.text, attachments: message.attachments })
      const notice = lease && this.#versionNotice(lease.live)
      if (notice) yield this.#noted(notice)
      let end = yield* this.#run(lease, message)
      if (end.resumeFailed && !this.#stopReason) end = yield* this.#runAfresh()
      await this.#release()
      const durationMs = Math.round(performance.now() - startedAt)
      yield { type: 'turn:end', sessionId: session.id, reason: end.reason, durationMs }
      if (this.#exit) yield exitEvent(session.id, this.#exit)
    } finally {
      signal.removeEventListener('abort', onAbort)
      await this.#release()
      await this.#forgetNotes()
    }
  }

  /** Null when the turn is stopped meanwhile: whoever stops it waits for no agent that is slow to start. */
  async #acquire(query: HarnessQuery): Promise<LiveLease | null> {
    const { session, turnId, context, pool, opts } = this.#options
    const launch = liveLaunch(query, { context, asks: opts.decide !== undefined, guard: opts.guard })
    const { signal } = this.#stopping
    let lease: LiveLease
    try {
      lease = await pool.acquire({ sessionId: session.id, turnId, launch, signal })
    } catch (error) {
      if (signal.aborted) return null
      throw error
    }
    this.#lease = lease
    const { resumeSessionId } = query
    if (resumeSessionId && !lease.isKept)
      this.#log.write('info', 'resume:attempt', { claudeSessionId: resumeSessionId })
    await this.#tellProcess(lease.live)
    return lease
  }

  async *#run(lease: LiveLease | null, message: PromptMessage): AsyncGenerator<UIEvent, Verdict> {
    const { session, query } = this.#options
    if (lease?.lost) yield this.#noted(goesOn(session.id, `${this.#agent.name} ${lease.lost}`))
    if (!lease || this.#stopReason) {
      const reason = this.#stopReason ?? 'interrupted'
      yield stopped(session.id, reason)
      return { reason, resumeFailed: false }
    }
    const { live } = lease
    let isResumeFailed = false
    let failure: { error: unknown } | undefined
    this.#turn = this.#liveTurn(live, message)
    try {
      for await (const event of this.#turn.events()) {
        const isMissing = query.resumeSessionId !== undefined && isMissingSession(event)
        isResumeFailed ||= isMissing
        if (isMissing) this.#resumeError = event.error
        if (event.type === 'session:init') this.#compareId(event.claudeSessionId)
        yield isMissing ? { ...event, recovered: !this.#stopReason } : event
      }
    } catch (error) {
      this.#log.fault('turn:error', error)
      failure = { error }
      await live.stop({ interruptGraceMs: 0 })
    }
    const isUnheard = lease.isKept && !this.#turn.isHeard && !live.isUsable
    if (isUnheard && !failure && !this.#stopReason) return yield* this.#runAgain(message)
    yield* this.#closing(live, failure)
    return { reason: await this.#reasonOf(live, failure), resumeFailed: isResumeFailed }
  }

  /** The agent's word counts, but whoever reads the log should know that it was another. */
  #compareId(claudeSessionId: string | null): void {
    const { resumeSessionId, newSessionId, forkSession } = this.#options.query
    const expected =
      forkSession || this.#resumeError !== '' ? newSessionId : (resumeSessionId ?? newSessionId)
    if (expected !== undefined && expected !== claudeSessionId)
      this.#log.write('warn', 'session:other-id', { expected, claudeSessionId })
  }

  #liveTurn(live: LiveClaude, { content }: PromptMessage): LiveTurn {
    const { session, turnId, opts, context } = this.#options
    return new LiveTurn({
      live,
      sessionId: session.id,
      content,
      uuid: turnId,
      decide: opts.decide,
      stallMs: opts.stallMs ?? STALL_MS,
      interruptGraceMs: context.config.stop?.interruptGraceMs ?? INTERRUPT_GRACE_MS,
      lingerMs: context.config.lingerMs ?? LINGER_MS,
      backgroundMs: context.config.backgroundMs ?? BACKGROUND_MS,
      onNote: (event, after) => void this.#noted(event, after),
    })
  }

  /** The process had gone between turns, and that was not known when the message was sent to it. */
  async *#runAgain(message: PromptMessage): AsyncGenerator<UIEvent, Verdict> {
    await this.#release()
    await this.#forgetNotes()
    return yield* this.#runIn(this.#options.query, message)
  }

  /** The agent no longer has the conversation: the same message again, as the first of a new one. */
  async *#runAfresh(): AsyncGenerator<UIEvent, Verdict> {
    const { query, session } = this.#options
    this.#log.write('warn', 'resume:failed', {
      claudeSessionId: query.resumeSessionId,
      error: this.#resumeError,
    })
    yield resumeFailed(session.id, query.resumeSessionId)
    await this.#lease?.live.dismiss()
    await this.#release()
    await this.#forgetNotes()
    this.#options.pool.told(session.id)
    const afresh = withoutConversation(query)
    return yield* this.#runIn(afresh, await promptMessage(afresh.prompt, this.#agent))
  }

  /** The turn has begun: what is wrong now is an event. */
  async *#runIn(query: HarnessQuery, message: PromptMessage): AsyncGenerator<UIEvent, Verdict> {
    const { session } = this.#options
    let lease: LiveLease | null
    // What became of the process before is told by what follows.
    this.#exit = null
    try {
      lease = await this.#acquire(query)
    } catch (error) {
      const { code, message: said } = startFailure(error, this.#agent)
      const errorCode = code === 'not_installed' ? code : 'process_crashed'
      yield { type: 'session:error', sessionId: session.id, error: said, code: errorCode }
      return { reason: 'failed', resumeFailed: false }
    }
    return yield* this.#run(lease, message)
  }

  /** What is to be said when the process is gone, the missing result last. */
  async *#closing(live: LiveClaude, failure: { error: unknown } | undefined): AsyncGenerator<UIEvent> {
    const sessionId = this.#options.session.id
    if (failure) yield failed(sessionId, failure.error)
    if (live.isUsable) return
    const end = await live.ended
    this.#exit = end
    if (this.#turn?.isAnswered) return
    yield* live.translator.end()
    if (end.leftBehind > 0 && !this.#stopReason) yield leftBehind(sessionId, end.leftBehind)
    if (failure) return
    const usage = this.#usageFailure(end)
    if (this.#stopReason) yield stopped(sessionId, this.#stopReason)
    else if (usage) yield { type: 'session:error', sessionId, ...usage }
    else yield noResult(sessionId, describeExit(this.#agent.name, end.exit, end.stderr))
  }

  #usageFailure({ stderr }: LiveEnd): ReturnType<typeof usageFailure> {
    return usageFailure(stderr, this.#agent)
  }

  /** Told in the first turn of a session. */
  #versionNotice({ launch }: LiveClaude): UIEvent | undefined {
    const { session, context } = this.#options
    if (session.claudeSessionId !== null) return undefined
    return versionNotice(session.id, (context.variant ?? PLAIN_VARIANT).version(launch.features))
  }

  async #reasonOf(live: LiveClaude, failure: unknown): Promise<TurnEndReason> {
    if (failure) return 'crashed'
    const { outcome } = live.translator
    const isAnswered = this.#turn?.isAnswered === true
    // Stopped too late to matter: the agent had already finished, and did not say that it stopped.
    const isFinished = isAnswered && live.shownRest.reached && outcome?.reason === 'completed'
    if (this.#stopReason && (!isFinished || this.#turn?.isStopHeeded)) return this.#stopReason
    if (isAnswered && outcome) return outcome.reason
    return !live.isUsable && this.#usageFailure(await live.ended) ? 'failed' : 'crashed'
  }

  get #agent(): AgentName {
    return (this.#options.context.variant ?? PLAIN_VARIANT).agent
  }

  async #stop(reason: StopReason): Promise<void> {
    if (!this.#stopReason || reason === 'killed') this.#stopReason = reason
    this.#stopping.abort()
    if (this.#stopReason === 'killed') await this.#options.pool.kill(this.#options.session.id)
    else this.#turn?.interrupt()
  }

  async #release(): Promise<void> {
    const lease = this.#lease
    this.#lease = null
    await lease?.release()
  }

  /** Only when the end of the turn was taken: until then a later Chirality needs them to tell the same events. */
  async #forgetNotes(): Promise<void> {
    const notes = this.#notes
    this.#notes = null
    await notes?.remove().catch((error: unknown) => this.#untraced(error))
  }

  /** Whoever cannot keep it loses the turn with this program, but not the turn. */
  async #tellProcess({ process, readTo }: LiveClaude): Promise<void> {
    const { onProcess } = this.#options.opts
    if (!onProcess) return
    this.#notes = new TurnNotes({ spoolPath: process.spoolPath, turnId: this.#options.turnId })
    try {
      onProcess(await traceProcess(process, readTo))
    } catch (error) {
      this.#untraced(error)
    }
  }

  /** For a later Chirality: the spool will not tell it. */
  #noted(event: UIEvent, after = -1): UIEvent {
    try {
      this.#notes?.add({ after, event })
    } catch (error) {
      this.#untraced(error)
    }
    return event
  }

  #untraced(error: unknown): void {
    this.#log.write('error', 'turn:untraced', { error: String(error) })
  }
}

interface Verdict {
  reason: TurnEndReason
  resumeFailed: boolean
}

const INTERRUPT_GRACE_MS = 5_000
/** Long enough for tests and builds, which are worth waiting for. */
const BACKGROUND_MS = 120_000

function exitEvent(sessionId: string, { exit, leftRunning }: LiveEnd): UIEvent {
  const { code, signal } = exit
  return {
    ...{ type: 'process:exit', sessionId, code, signal },
    ...(leftRunning === undefined ? {} : { leftRunning }),
  }
}

function goesOn(sessionId: string, how: string): UIEvent {
  const message = `${how}. The conversation goes on in a new process.`
  return { type: 'status', sessionId, status: 'notice', level: 'warn', message, data: { kind: 'restarted' } }
}

function isMissingSession(event: UIEvent): event is UIEvent & { type: 'session:error' } {
  return event.type === 'session:error' && event.code === 'session_not_found'
}
