import { allTokens, type BudgetEvent, costOf, type Envelope, type UsageEvent } from '@chirality/core'
import { own } from '../../ui/own.ts'

/** Facts of a session that panes need beyond the reducer's state, folded from the same envelopes. */
export interface SessionExtras {
  /** How the last process of the session ended. */
  readonly exit: ProcessEnd | null
  readonly budget: BudgetEvent | null
  /** Output of tools that are still at work, by tool id. */
  readonly output: Readonly<Record<string, string>>
  readonly slashCommands: readonly string[]
  /** When each request was made, newest last. */
  readonly asked: readonly { requestId: string; at: string }[]
  /** The last `seq` of each turn that ended, by its id: where a fork begins. */
  readonly turnEnds: Readonly<Record<string, number>>
  /** Use of sub-agents by the id of their call, for agents that report it apart. */
  readonly spent: Readonly<Record<string, Spent>>
}

export interface Spent {
  tokens: number
  /** Cost by list price; null where a part of it has none. */
  usd: number | null
}

export interface ProcessEnd {
  turnId: string | null
  code: number | null
  signal: string | null
  leftRunning: number | null
}

export const NO_EXTRAS: SessionExtras = {
  exit: null,
  budget: null,
  output: {},
  slashCommands: [],
  asked: [],
  turnEnds: {},
  spent: {},
}

/** Limit of a tool's live output. The result brings the whole of it. */
export const MAX_LIVE_OUTPUT_CHARS = 64 * 1024
const MAX_ASKED = 200

export function foldExtras(extras: SessionExtras, envelopes: readonly Envelope[]): SessionExtras {
  const folded = envelopes.reduce(foldOne, extras)
  const ends = envelopes.flatMap(({ event, turnId, seq }) =>
    event.type === 'turn:end' && turnId !== null ? [[turnId, seq] as const] : [],
  )
  // Once for a batch: a copy for each turn would make opening a long session quadratic.
  if (ends.length === 0) return folded
  return { ...folded, turnEnds: { ...extras.turnEnds, ...Object.fromEntries(ends) } }
}

function foldOne(extras: SessionExtras, { event, turnId, at }: Envelope): SessionExtras {
  switch (event.type) {
    case 'process:exit': {
      const { code, signal, leftRunning = null } = event
      return { ...extras, exit: { turnId, code, signal, leftRunning } }
    }
    case 'turn:start':
      return { ...extras, exit: null, output: {} }
    case 'usage':
      return event.parentToolUseId === undefined ? extras : addSpent(extras, event, event.parentToolUseId)
    case 'budget':
      return { ...extras, budget: event }
    case 'session:init':
      return event.slashCommands ? { ...extras, slashCommands: event.slashCommands } : extras
    case 'status': {
      const piece = event.status === 'tool_progress' ? event.data?.output : undefined
      if (typeof piece !== 'string' || event.toolUseId === undefined) return extras
      const text = ((own(extras.output, event.toolUseId) ?? '') + piece).slice(-MAX_LIVE_OUTPUT_CHARS)
      return { ...extras, output: { ...extras.output, [event.toolUseId]: text } }
    }
    case 'permission:request':
      return { ...extras, asked: [...extras.asked, { requestId: event.requestId, at }].slice(-MAX_ASKED) }
    default:
      return extras
  }
}

function addSpent(extras: SessionExtras, event: UsageEvent, id: string): SessionExtras {
  const { tokens, usd } = own(extras.spent, id) ?? { tokens: 0, usd: 0 }
  const price =
    event.estimateUsd ?? (event.model === undefined ? undefined : costOf(event.usage, event.model))
  const sum = usd === null || price === undefined ? null : usd + price
  return {
    ...extras,
    spent: { ...extras.spent, [id]: { tokens: tokens + allTokens(event.usage), usd: sum } },
  }
}
