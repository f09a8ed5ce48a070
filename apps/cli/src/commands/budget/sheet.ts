import { formatDuration, usdText } from '@chirality/core'
import type { PersonaConfig } from '@chirality/personas'
import type { BudgetReading, StoredSession } from '@chirality/sessions'
import { type Output, tell } from '../../output.ts'
import { plain } from '../../render/plain.ts'

/** One budget as it is shown: what was spent, of what. `spent` is absent where each session counts for itself. */
export interface BudgetSheet {
  kind: 'project' | 'session' | 'persona'
  /** The folder, the id, or the file. */
  name: string
  usd: Line
  tokens: Line
  minutes: Line
  turns?: Line
  problem?: string
}

interface Line {
  /** null is a cost that nobody knows. */
  spent?: number | null
  limit: number | null
}

export function sheetOfProject(project: string, { state, problem }: BudgetReading): BudgetSheet {
  return {
    ...{ kind: 'project', name: project },
    usd: { spent: state.total_cost_usd, limit: state.max_cost_usd },
    tokens: { spent: state.total_tokens, limit: state.max_tokens },
    minutes: { spent: state.total_minutes, limit: state.max_minutes },
    turns: { spent: state.iterations, limit: state.max_iterations },
    ...(problem === undefined ? {} : { problem }),
  }
}

export function sheetOfSession({ id, costUsd, tokens, workedMs, settings }: StoredSession): BudgetSheet {
  const { budgetUsd = null, budgetTokens = null, budgetMinutes = null } = settings
  return {
    ...{ kind: 'session', name: id },
    usd: { spent: costUsd, limit: budgetUsd },
    tokens: { spent: tokens, limit: budgetTokens },
    minutes: { spent: workedMs / MINUTE_MS, limit: budgetMinutes },
  }
}

export function sheetOfPersona(persona: PersonaConfig): BudgetSheet {
  const { sourceFile, budgetUsd = null, budgetTokens = null, budgetMinutes = null } = persona
  return {
    ...{ kind: 'persona', name: sourceFile },
    ...{ usd: { limit: budgetUsd }, tokens: { limit: budgetTokens }, minutes: { limit: budgetMinutes } },
  }
}

export async function printSheet(
  sheet: BudgetSheet,
  { json, output }: { json: boolean; output: Output },
): Promise<void> {
  if (sheet.problem !== undefined) await tell(`chirality: ${plain(sheet.problem)}\n`)
  if (json) {
    await output.write(`${JSON.stringify(sheet)}\n`)
    return
  }
  const title =
    sheet.kind === 'persona'
      ? `Each session of ${plain(sheet.name)}`
      : `${TITLES[sheet.kind]} ${plain(sheet.name)}`
  const lines = UNITS.flatMap(([unit, text]) => {
    const line = sheet[unit]
    return line === undefined ? [] : [`  ${unit.padEnd(8)} ${lineText(line, text)}\n`]
  })
  await output.write(`${title}\n${lines.join('')}`)
}

const TITLES = { project: 'Project', session: 'Session' }
const MINUTE_MS = 60_000

const count = (amount: number) => amount.toLocaleString('en-US')
const UNITS: readonly ['usd' | 'tokens' | 'minutes' | 'turns', (amount: number) => string][] = [
  ['usd', usdText],
  ['tokens', count],
  ['minutes', minutes => formatDuration(minutes * MINUTE_MS)],
  ['turns', count],
]

function lineText({ spent, limit }: Line, text: (amount: number) => string): string {
  const most = limit === null ? 'no limit' : `limit ${text(limit)}`
  if (spent === undefined) return most
  return `${spent === null ? 'unknown' : text(spent)} spent, ${most}`
}
