import { projectName } from '../../app/project.ts'
import type { SessionStatus } from '../../state/server/server-api.ts'
import { sessionTitle } from '../sidebar/session-title.ts'

export type UsageBy = 'project' | 'agent' | 'model' | 'persona'

export interface Spend {
  name: string
  usd: number
  /** A part of it is by list price. */
  isEstimate: boolean
  /** Sessions whose price nobody knows. */
  unpriced: number
  tokens: number
  sessions: number
}

/** What sessions cost together, the dearest first; where prices are unknown, by tokens. `agentName` gives an agent its name. */
export function spendBy(
  statuses: readonly SessionStatus[],
  by: UsageBy,
  agentName: (id: string) => string,
): Spend[] {
  const spends = new Map<string, Spend>()
  for (const status of statuses) {
    const name = by === 'agent' && status.harness ? agentName(status.harness) : nameOf(status, by)
    const before = spends.get(name) ?? { ...NOTHING, name }
    spends.set(name, add(before, status))
  }
  return [...spends.values()].sort((a, b) => b.usd - a.usd || b.tokens - a.tokens)
}

export function spendOfAll(statuses: readonly SessionStatus[]): Spend {
  return statuses.reduce(add, NOTHING)
}

const NOTHING: Spend = { name: '', usd: 0, isEstimate: false, unpriced: 0, tokens: 0, sessions: 0 }

function add(spend: Spend, { costUsd, costIsEstimate, tokens }: SessionStatus): Spend {
  return {
    name: spend.name,
    usd: spend.usd + (costUsd ?? 0),
    isEstimate: spend.isEstimate || costIsEstimate,
    unpriced: spend.unpriced + (costUsd === null ? 1 : 0),
    tokens: spend.tokens + tokens,
    sessions: spend.sessions + 1,
  }
}

function nameOf({ projectRoot, harness, model, persona }: SessionStatus, by: UsageBy): string {
  switch (by) {
    case 'project':
      return projectName(projectRoot)
    case 'agent':
      return harness ?? 'default agent'
    case 'model':
      return model ?? 'default model'
    case 'persona':
      return persona ?? 'no persona'
  }
}

/** One line a session, for a spreadsheet. */
export function usageCsv(statuses: readonly SessionStatus[]): string {
  const head = 'session,title,project,agent,model,persona,usd,estimate,tokens,updated'
  const lines = statuses.map(status => {
    const { sessionId, projectRoot, harness, model, persona, costUsd, costIsEstimate, tokens, updatedAt } =
      status
    const cells = [sessionId, sessionTitle(status), projectRoot, harness, model, persona]
    return [...cells, costUsd, costIsEstimate, tokens, updatedAt].map(csvCell).join(',')
  })
  return `${[head, ...lines].join('\n')}\n`
}

/** Quoted where it must be; what a spreadsheet would take for a formula is text. */
function csvCell(value: string | number | boolean | null): string {
  if (value === null) return ''
  if (typeof value !== 'string') return String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
