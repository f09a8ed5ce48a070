import {
  type AcpTranslator,
  type ContextUsage,
  createAcpTranslator,
  type HarnessId,
  type HarnessQuery,
  type PermissionMode,
  type Session,
  type SlashCommand,
  type TurnEndReason,
  type UIEvent,
} from '@chirality/core'
import { lostSession, resumeFailed } from '../turn/turn-events.ts'
import type { TurnFacts } from '../turn/turn-program.ts'
import type { AcpAgent } from './acp-agent.ts'
import type { AcpAgentSpec } from './agent-spec.ts'

/** The facts that are needed to tell a turn again from the spool. */
export interface AcpTurnFacts extends TurnFacts {
  turnId: string
  conversation: string
  model: string
  cwd: string
  promptId: number
  /** Offset in the spool at which the turn begins, and those of earlier messages that it begins with. */
  from: number
  unheard: number[]
  costBefore?: number | 'unknown'
  version?: string
  permissionMode?: PermissionMode
  slashCommands?: string[]
  /** The id of the requested conversation that no longer exists. */
  lostId?: string
  partialMessages?: boolean
  harness: HarnessId
  agentName: string
}

/** A turn as UI events, from the agent's messages. */
export class AcpView {
  readonly #sessionId: string
  readonly #facts: AcpTurnFacts
  readonly #translator: AcpTranslator

  constructor(session: Session, facts: AcpTurnFacts) {
    const { turnId, promptId, conversation: nativeSessionId, costBefore, harness } = facts
    this.#sessionId = session.id
    this.#facts = facts
    const options = { sessionId: session.id, turnId, promptId, nativeSessionId, costBefore, harness }
    this.#translator = createAcpTranslator(options)
  }

  *opening(): Generator<UIEvent> {
    const sessionId = this.#sessionId
    const { conversation, model, cwd, version, permissionMode, slashCommands, lostId, harness, agentName } =
      this.#facts
    if (lostId !== undefined) {
      yield lostSession(sessionId, lostId, agentName)
      yield resumeFailed(sessionId, lostId)
    }
    yield {
      type: 'session:init',
      sessionId,
      claudeSessionId: conversation,
      model,
      tools: [],
      harness,
      cwd,
      ...(version ? { version } : {}),
      ...(permissionMode ? { permissionMode } : {}),
      ...(slashCommands ? { slashCommands } : {}),
    }
  }

  show(raw: unknown): UIEvent[] {
    const events = this.#translator.translate(raw)
    if (this.#facts.partialMessages !== false) return events
    return events.filter(
      event => event.type !== 'chat:delta' && !(event.type === 'chat:thinking' && !event.final),
    )
  }

  /** The agent got its answer to this request. */
  answered(requestId: string): void {
    this.#translator.answered(requestId)
  }

  end(): UIEvent[] {
    return this.#translator.end()
  }

  get outcome(): TurnEndReason | null {
    return this.#translator.outcome?.reason ?? null
  }

  get costUsd(): number | undefined {
    return this.#translator.costUsd
  }

  get context(): ContextUsage | undefined {
    return this.#translator.context
  }

  get slashCommands(): Omit<SlashCommand, 'type'>[] | undefined {
    return this.#translator.slashCommands
  }

  get isExecuting(): boolean {
    return this.#translator.isExecuting
  }

  get hasCompacted(): boolean {
    return this.#translator.hasCompacted
  }
}

/** Whether the record belongs to the turn. */
export function isOfTurn({ from, unheard }: AcpTurnFacts, offset: number): boolean {
  return offset >= from || unheard.includes(offset)
}

/** What the conversation had cost before the turn. */
export function costBefore(
  { costUsd }: Pick<AcpAgent, 'costUsd'>,
  { resumeSessionId }: HarnessQuery,
  { id, lostId }: { id: string; lostId?: string },
  { spec, costs }: { spec: AcpAgentSpec; costs: ReadonlyMap<string, number> },
): Pick<AcpTurnFacts, 'costBefore'> {
  const known = costUsd ?? (spec.countsWholeCost ? costs.get(id) : undefined)
  if (known !== undefined) return { costBefore: known }
  const isOld = resumeSessionId !== undefined && lostId === undefined
  return spec.countsWholeCost && isOld ? { costBefore: 'unknown' } : {}
}
