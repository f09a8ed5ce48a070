import type {
  PermissionRequestEvent,
  PermissionResolvedEvent,
  SessionHarness,
  TurnEndEvent,
  UIEvent,
} from '@chirality/core'
import type { Spending } from '../budget/budget-book.ts'
import type { BudgetLimits } from '../budget/budget-limits.ts'
import type { TurnBudget } from '../budget/limits-of-turn.ts'
import type { HarnessLog } from '../harness-log/harness-log.ts'
import { endOfTurn, notice } from '../log/turn-events.ts'
import type { SessionView } from '../status/session-view.ts'
import type { ProjectContext } from './host-context.ts'
import type { SessionRecorder } from './record/session-recorder.ts'
import { type EventStage, storedStages } from './stages.ts'
import { TurnWatch } from './turn-watch.ts'

export interface TurnWriterOptions {
  turnId: string
  /** What the events that an agent said pass before they are written. */
  stages: readonly EventStage[]
  recorder: SessionRecorder
  rows: TurnRows
  watch: TurnWatch
  /** The agent's unanswered requests. */
  pending: () => readonly PermissionRequestEvent[]
  /** Called before the end is told, which waits for it. Resolves with a warning; never rejects. */
  beforeEnd: () => Promise<string | undefined>
  /** Called once, when a budget is used up: the turn is to be stopped. */
  onOverBudget: () => void
}

/** Writes the events of one turn, and the notices of its budgets. */
export class TurnWriter {
  readonly #options: TurnWriterOptions
  #overBudget = false
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  /** When the turn was last found to have no time limit. */
  #untimedAt = Number.NEGATIVE_INFINITY

  constructor(options: TurnWriterOptions) {
    this.#options = options
  }

  get overBudget(): boolean {
    return this.#overBudget
  }

  get spent(): Spending {
    return this.#options.watch.spent
  }

  get stages(): readonly EventStage[] {
    return this.#options.stages
  }

  /** Before the agent gets its message: a notice if budgets in dollars cannot be counted for this model. */
  async warn(model: string | undefined): Promise<void> {
    const { watch, recorder, turnId } = this.#options
    await recorder.record(watch.warning(model), turnId)
  }

  /** Returns a promise only if the log cannot accept them now. The end of a turn comes alone. */
  write(events: readonly UIEvent[]): Promise<void> | undefined {
    const [first] = events
    if (first?.type === 'turn:end') return this.#writeEnd(first)
    const { recorder, turnId } = this.#options
    const waiting = recorder.record(events, turnId)
    return waiting ? waiting.then(() => this.#written(events)) : this.#written(events)
  }

  /** The turn is over, or another host continues it. */
  close(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  async #writeEnd(event: TurnEndEvent): Promise<void> {
    this.close()
    const { recorder, turnId, pending, watch, beforeEnd } = this.#options
    const warning = await beforeEnd()
    const told = warning === undefined ? [] : [notice(event.sessionId, warning)]
    await recorder.record([...watch.last(), ...told, ...endOfTurn(event, pending())], turnId)
    await this.#written([event])
  }

  #written(events: readonly UIEvent[]): Promise<void> | undefined {
    const { rows, watch } = this.#options
    const news: UIEvent[] = []
    for (const event of events) {
      rows.note(event)
      news.push(...watch.note(event))
      this.#stopIfDue()
    }
    if (news.length > 0) return this.#writeNews(news)
    this.#wakeInTime()
    return undefined
  }

  async #writeNews(news: UIEvent[]): Promise<void> {
    const { recorder, turnId } = this.#options
    await recorder.record(news, turnId)
    this.#stopIfDue()
    this.#wakeInTime()
  }

  /**
   * A silent agent can run out of time too. The time limit pauses while a person is waited for, so the timer may be
   * early.
   */
  #wakeInTime(): void {
    if (this.#timer !== undefined || this.#isOver || this.#overBudget) return
    const now = performance.now()
    if (now - this.#untimedAt < UNTIMED_MS) return
    const { leftMs } = this.#options.watch
    this.#untimedAt = leftMs === undefined ? now : Number.NEGATIVE_INFINITY
    if (leftMs === undefined) return
    // A timer can fire a millisecond early.
    const inMs = Math.min(Math.max(leftMs + 1, MIN_WAIT_MS), MAX_WAIT_MS)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      // A log that accepts no events stops the turn by itself.
      void this.#writeNews(this.#options.watch.check()).catch(() => {})
    }, inMs)
    this.#timer.unref()
  }

  /** An event that the log already has, from an earlier host; only its cost is counted here. */
  pass(event: UIEvent): void {
    this.#options.watch.note(event)
  }

  async flush(): Promise<void> {
    await this.#options.recorder.flush()
  }

  #stopIfDue(): void {
    const { watch, onOverBudget } = this.#options
    if (this.#overBudget || !watch.mustStop) return
    this.#overBudget = true
    onOverBudget()
  }
}

const MIN_WAIT_MS = 50
/** A turn without a time limit is asked for one this often, not with each batch of events. */
const UNTIMED_MS = 500
/** A limit that is lowered meanwhile takes effect after this time at the latest. */
const MAX_WAIT_MS = 60_000

interface MakeWriterOptions {
  project: ProjectContext
  view: SessionView
  recorder: SessionRecorder
  turnId: string
  limits: BudgetLimits
  budget: TurnBudget
  harness: SessionHarness
  /** Whether the agent may have come to rest while no host ran. */
  isLate?: () => Promise<boolean>
}

/** A writer for a new or adopted turn, which stops the turn when a budget is used up. */
export function makeWriter({
  project,
  view,
  recorder,
  turnId,
  limits,
  budget,
  harness,
  isLate = async () => false,
}: MakeWriterOptions): TurnWriter {
  const { id: sessionId } = view.session
  const { budget: projectBudget, prices, harnessLog } = project
  const watch = new TurnWatch({
    sessionId,
    turnId,
    limits,
    projectBudget,
    prices: prices(),
    before: () => budget.session,
    now: () => view.spent,
    model: () => view.model,
  })
  return new TurnWriter({
    turnId,
    stages: storedStages(events => watch.priced(events), view.folders),
    recorder,
    rows: new TurnRows(harnessLog, sessionId, () => view.turnCost.usd),
    watch,
    pending: () => view.pending,
    beforeEnd: async () => afterTurn({ project, view, turnId, isLate: await isLate() }),
    onOverBudget: () => harness.interrupt(sessionId),
  })
}

/** What the project does when the agent of a turn rests, before the end is told. Never rejects. */
export function afterTurn({
  project,
  view,
  turnId,
  isLate,
}: {
  project: ProjectContext
  view: SessionView
  turnId: string
  isLate: boolean
}): Promise<string | undefined> {
  const { id: sessionId, projectRoot, lastSeq } = view.session
  const workFolder = view.folders.workFolder ?? projectRoot
  return project.afterTurn({ sessionId, turnId, projectRoot, workFolder, lastSeq, isLate })
}

/**
 * Writes the rows about a turn that the specification requires to harness.log. The harness writes those about
 * processes.
 */
class TurnRows {
  readonly #log: HarnessLog
  readonly #sessionId: string
  readonly #startedAt = performance.now()
  /** Names of the running tools; those that are not logged yet have no input so far. */
  readonly #tools = new Map<string, { name: string; logged: boolean }>()
  /** The usage of the turn so far. */
  readonly #costUsd: () => number | null
  #inputTokens = 0
  #outputTokens = 0

  constructor(log: HarnessLog, sessionId: string, costUsd: () => number | null) {
    this.#costUsd = costUsd
    this.#log = log
    this.#sessionId = sessionId
  }

  note(event: UIEvent): void {
    switch (event.type) {
      case 'session:init': {
        const { claudeSessionId, model, tools } = event
        return this.#log.write(this.#sessionId, { event: 'session:init', claudeSessionId, model, tools })
      }
      case 'tool:start':
        this.#tools.set(event.toolUseId, { name: event.name, logged: false })
        if (Object.keys(event.input).length > 0) this.#invoked(event.toolUseId, event.input)
        return
      case 'tool:input':
        if (event.input !== undefined) this.#invoked(event.toolUseId, event.input)
        return
      case 'permission:resolved':
        return this.#edited(event)
      case 'tool:result':
        return this.#result(event.toolUseId, event.isError, event.content.length)
      case 'session:complete':
      case 'session:error':
        this.#inputTokens += event.usage?.input_tokens ?? 0
        this.#outputTokens += event.usage?.output_tokens ?? 0
        if (event.type === 'session:error')
          this.#log.write(this.#sessionId, { event: 'error', message: `${event.code}: ${event.error}` })
        return
      case 'turn:end':
        return this.#ended()
    }
  }

  #invoked(toolUseId: string, input: unknown): void {
    const tool = this.#tools.get(toolUseId)
    if (tool === undefined || tool.logged) return
    tool.logged = true
    this.#log.write(this.#sessionId, { event: 'tool:invoke', toolName: tool.name, input })
  }

  /** Another input runs than the one that was written. */
  #edited({ toolUseId, updatedInput, facts }: PermissionResolvedEvent): void {
    if (updatedInput === undefined) return
    const toolName = this.#tools.get(toolUseId ?? '')?.name ?? facts?.label ?? 'unknown'
    this.#log.write(this.#sessionId, { event: 'tool:invoke', toolName, input: updatedInput, edited: true })
  }

  #result(toolUseId: string, isError: boolean, contentLength: number): void {
    this.#invoked(toolUseId, {})
    const toolName = this.#tools.get(toolUseId)?.name ?? 'unknown'
    this.#tools.delete(toolUseId)
    this.#log.write(this.#sessionId, { event: 'tool:result', toolName, isError, contentLength })
  }

  #ended(): void {
    this.#log.write(this.#sessionId, {
      event: 'turn:complete',
      costUsd: this.#costUsd(),
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      durationMs: Math.round(performance.now() - this.#startedAt),
    })
  }
}
