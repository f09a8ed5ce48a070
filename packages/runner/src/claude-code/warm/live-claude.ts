import {
  type ClaudeEvent,
  type ClaudeTranslator,
  type ContextUsage,
  createClaudeTranslator,
  parseClaudeEvent,
  unreachable,
} from '@chirality/core'
import type { AgentProcess, ProcessExit } from '../../process/agent-process.ts'
import type { AgentOutput } from '../../process/output/agent-output.ts'
import { openSpool } from '../../process/spool/spool.ts'
import type { StopOptions, StopReport } from '../../process/stop/stop.ts'
import { TurnLog } from '../../turn/harness-log.ts'
import type { ClaudeCodeHarnessConfig, ClaudeVariant, Launch } from '../config.ts'
import { type ClaudeOffer, claudeOffer, SETTINGS } from '../install/slash-commands.ts'
import { type MessageContent, userLine } from '../launch/prompt.ts'
import { Rest } from '../rest.ts'
import { TalkBetweenTurns } from './between-turns.ts'
import { ControlChannel, ControlError, type ControlRequest } from './control-channel.ts'
import { guardHooks, type HookRequest } from './guard-hook.ts'
import { Inbox, type InboxItem } from './inbox.ts'

export interface LiveClaudeOptions {
  launch: Launch
  config: ClaudeCodeHarnessConfig
  variant: ClaudeVariant
  sessionId: string
  /** The id of the first turn, which names the raw log. */
  turnId: string
  model: string | undefined
  mode: string | undefined
  /** Aborted when the agent is no longer wanted. */
  signal: AbortSignal
  /** Called for each line of stderr. */
  onStderr?: (line: string) => void
}

/** How a process ended. */
export interface LiveEnd {
  exit: ProcessExit & Pick<AgentProcess, 'fault'>
  stderr: string
  /** The number of processes that it had started and left running. */
  leftBehind: number
  /** The number of processes that could not be stopped; undefined if it could not be determined. */
  leftRunning: number | undefined
}

/** A `claude` process that is kept between the turns of a session. */
export class LiveClaude {
  readonly process: AgentProcess
  readonly launch: Launch
  readonly control: ControlChannel
  readonly inbox = new Inbox()
  readonly betweenTurns: TalkBetweenTurns
  /** One for the process: what a result costs is the growth of a total that goes on over its turns. */
  readonly translator: ClaudeTranslator
  /** Resolves when the process and all its child processes have exited. */
  readonly ended: Promise<LiveEnd>
  /** The model that was set last; undefined leaves the choice to the agent. */
  model: string | undefined
  /** By what was read from the inbox. */
  readonly shownRest: Rest
  /** Idle or not, by the output that was printed. */
  readonly #rest: Rest
  readonly #config: ClaudeCodeHarnessConfig
  readonly #log: TurnLog
  readonly #sessionId: string
  readonly #registersGuard: boolean
  readonly #stderr: string[] = []
  readonly #onStderr: ((line: string) => void) | undefined
  #initialized: Promise<Record<string, unknown>> | undefined
  #mode: string | null = null
  #readTo = 0
  #isUsable = true
  #isStopped = false

  private constructor(process: AgentProcess, options: LiveClaudeOptions) {
    const { launch, config, variant, sessionId, model, mode } = options
    this.model = model
    this.#sessionId = sessionId
    this.#registersGuard = variant.registersGuard === true
    this.#mode = mode ?? null
    this.process = process
    this.launch = launch
    this.control = new ControlChannel(process)
    this.translator = createClaudeTranslator({ sessionId, harness: variant.agent.harnessId })
    this.shownRest = new Rest({ onLinger: () => {} })
    this.#rest = new Rest({ onLinger: () => {} })
    this.#config = config
    this.#onStderr = options.onStderr
    this.#log = new TurnLog(config, sessionId)
    this.#log.spawned(launch, process)
    const onFault = (error: unknown) => this.#log.fault('turn:error', error)
    this.betweenTurns = new TalkBetweenTurns({ live: this, sessionId, onFault })
    void process.exited.then(() => {
      this.#isUsable = false
      this.inbox.openWide()
    })
    this.ended = this.#run(launch)
  }

  /**
   * Owns the launch's files, also if the start fails. Rejects if the start is cancelled, and leaves no process running.
   */
  static async start(options: LiveClaudeOptions): Promise<LiveClaude> {
    const { launch, variant, sessionId, turnId, signal } = options
    const { harnessId: harness } = variant.agent
    let live: LiveClaude
    try {
      signal.throwIfAborted()
      const { rawLogs } = options.config
      const projectRoot = launch.query.projectRoot ?? launch.cwd
      const spool = await openSpool({ projectRoot, harness, sessionId, turnId, rawLogs })
      live = new LiveClaude(await variant.start(launch, spool, signal), options)
    } catch (error) {
      await launch.cleanup()
      throw error
    }
    if (signal.aborted) {
      await live.stop({ interruptGraceMs: 0 })
      signal.throwIfAborted()
    }
    return live
  }

  /** False as soon as it is being stopped, or has exited by itself. */
  get isUsable(): boolean {
    return this.#isUsable
  }

  /** The harness ended it, so its exit is not reported to the user. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** No work runs in it, not even in the background. An agent that has received no message is idle too. */
  get isResting(): boolean {
    return this.#readTo === 0 || this.#rest.reached
  }

  /** The permission mode that was set or reported last; null if none was. */
  get mode(): string | null {
    return this.#mode
  }

  /** Where in the spool the next turn begins: after all that was read from the inbox. */
  get readTo(): number {
    return this.#readTo
  }

  /** False if the message cannot be sent: the agent has exited, or its guard's hook is not registered. */
  async send(content: MessageContent, uuid: string): Promise<boolean> {
    const registers = this.launch.guard !== undefined && !this.#registersGuard
    if (registers && !(await this.#isGuarded())) return false
    return this.process.write(userLine(content, uuid))
  }

  async #isGuarded(): Promise<boolean> {
    try {
      await this.initialize()
      return true
    } catch (error) {
      this.#keepStderr(`The agent did not take the hook that guards it: ${String(error)}`)
      return false
    }
  }

  /** Rejects with a ControlError, at once if this release is known not to answer. */
  async request(request: ControlRequest, id?: string): Promise<Record<string, unknown>> {
    const { features } = this.launch
    const { subtype } = request
    if (!features.answers(subtype)) throw new ControlError(`This release does not know ${subtype}.`)
    try {
      return await this.control.request(request, id)
    } catch (error) {
      if (error instanceof ControlError && error.isUnknown) features.refused(subtype)
      throw error
    }
  }

  /** Resolves when the agent is ready for a message. */
  initialize(): Promise<Record<string, unknown>> {
    this.#initialized ??= this.#initialize()
    return this.#initialized
  }

  /** Without its guard's hook the agent must not be sent any message. */
  async #initialize(): Promise<Record<string, unknown>> {
    const { guard, features } = this.launch
    if (!guard || this.#registersGuard) return this.request({ subtype: 'initialize' })
    const hooks = guardHooks({ blocksOnFailure: features.blocksOnHookFailure })
    return this.request({ subtype: 'initialize', hooks })
  }

  /** The slash commands and models; undefined if the agent does not report them. */
  async offer(): Promise<ClaudeOffer | undefined> {
    const answers = [this.initialize(), this.request(SETTINGS)].map(answer => answer.catch(() => ({})))
    const [initialized = {}, settings] = await Promise.all(answers)
    return claudeOffer(initialized, settings)
  }

  async contextUsage(): Promise<ContextUsage | undefined> {
    const { totalTokens, maxTokens } = await this.request({ subtype: 'get_context_usage' })
    const isKnown = typeof totalTokens === 'number' && typeof maxTokens === 'number'
    return isKnown ? { usedTokens: totalTokens, maxTokens } : undefined
  }

  /** To be called for each record that is taken from the inbox. */
  taken({ record, event }: InboxItem & { kind: 'record' }): void {
    this.#readTo = record.offset + record.bytes + 1
    if (event) this.shownRest.see(event)
  }

  /**
   * Stops the process and all its child processes. All calls share one sequence of signals; a stricter call moves it
   * on.
   */
  async stop(options: StopOptions = {}): Promise<void> {
    this.#letGo()
    await this.process.stop({ ...this.#config.stop, ...options })
    await this.ended
  }

  /** Ends an agent that does not work properly. Not marked as stopped, so the next turn reports the exit. */
  async giveUp(): Promise<void> {
    this.#isUsable = false
    await this.process.stop({ ...this.#config.stop, interruptGraceMs: 0 })
    await this.ended
  }

  /** Lets an idle agent exit by itself, which it does when its stdin is closed. */
  async dismiss(): Promise<void> {
    this.#letGo()
    const impatience = setTimeout(() => void this.stop({ interruptGraceMs: 0 }), DISMISS_MS)
    await this.ended
    clearTimeout(impatience)
  }

  #letGo(): void {
    // An agent that has exited by itself was not stopped.
    this.#isStopped ||= this.#isUsable
    this.#isUsable = false
    this.process.endInput()
  }

  async #run(launch: Launch): Promise<LiveEnd> {
    try {
      await this.#pump()
    } catch (error) {
      // An internal error: the raw output cannot be read any more, so the agent is ended.
      this.#log.fault('turn:error', error)
      this.#stderr.push(String(error))
    }
    this.#isUsable = false
    this.control.close()
    const report = await this.#sweep()
    const exit = { ...(await this.process.exited), fault: this.process.fault }
    this.#rest.end()
    this.shownRest.end()
    this.#log.exited(exit, exit.fault)
    if (report.leftRunning.length > 0) this.#log.write('error', 'process:left', { pids: report.leftRunning })
    await this.#release(launch)
    this.betweenTurns.end()
    this.inbox.end()
    const leftBehind = report.stopped.filter(pid => pid !== this.process.pid).length
    const left = report.leftRunning.length
    const leftRunning = report.isSure || left > 0 ? left : undefined
    return { exit, stderr: this.#stderr.join('\n'), leftBehind, leftRunning }
  }

  async #pump(): Promise<void> {
    for (let batch = await this.process.read(); batch !== undefined; batch = await this.process.read()) {
      for (const output of batch) {
        const room = this.#take(output)
        if (!room) continue
        this.betweenTurns.read()
        await room
      }
      this.betweenTurns.read()
    }
  }

  /** Returns a promise only if the inbox is full. */
  #take(output: AgentOutput): Promise<void> | undefined {
    switch (output.kind) {
      case 'record': {
        const { record } = output
        this.#log.record(record)
        const event = record.kind === 'json' ? parseClaudeEvent(record.value) : null
        if (event) this.#see(event)
        return this.inbox.push({ kind: 'record', record, event })
      }
      case 'stderr':
        this.#keepStderr(output.line)
        return undefined
      case 'spool-damaged':
        this.#log.write('error', 'spool:damaged', { path: output.path, damage: output.damage })
        return this.inbox.push(output)
      default:
        unreachable(output)
        return undefined
    }
  }

  #see(event: ClaudeEvent): void {
    this.control.see(event)
    this.#rest.see(event)
    const asked = this.launch.guard?.requestIn(event)
    if (asked) void this.#answerHook(asked)
    if (event.type !== 'system') return
    if (event.subtype !== 'init' && event.subtype !== 'status') return
    if (typeof event.permissionMode === 'string') this.#mode = event.permissionMode
  }

  /** Answered at once, also between turns, because background tasks call tools too. */
  async #answerHook(asked: HookRequest): Promise<void> {
    const answer = await this.launch.guard?.answer(asked, this.#sessionId)
    if (!answer) return
    this.control.respond(asked.requestId, answer.output)
    for (const event of answer.told) void this.inbox.push({ kind: 'told', event })
    this.betweenTurns.read()
  }

  /** Ends the child processes. Never rejects: a turn would wait forever for an end that is not reported. */
  async #sweep(): Promise<Pick<StopReport, 'stopped' | 'leftRunning' | 'isSure'>> {
    try {
      return await this.process.stop({ ...this.#config.stop, interruptGraceMs: 0 })
    } catch (error) {
      this.#log.write('error', 'turn:release', { error: String(error) })
      return { stopped: [], leftRunning: [], isSure: false }
    }
  }

  async #release(launch: Launch): Promise<void> {
    for (const step of [() => this.process.close(), () => launch.cleanup()]) {
      await step().catch((error: unknown) =>
        this.#log.write('error', 'turn:release', { error: String(error) }),
      )
    }
  }

  #keepStderr(line: string): void {
    this.#log.stderr(line)
    this.#onStderr?.(line)
    this.#stderr.push(line)
    if (this.#stderr.length > MAX_STDERR_LINES) this.#stderr.shift()
  }
}

/** Its exit hooks and the shutdown of its MCP servers take a while. */
const DISMISS_MS = 5_000
const MAX_STDERR_LINES = 50
