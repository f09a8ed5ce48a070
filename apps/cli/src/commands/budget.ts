import { realpath } from 'node:fs/promises'
import { formatDuration, usdText } from '@chirality/core'
import { type PersonaConfig, PersonaManager } from '@chirality/personas'
import {
  ageText,
  BudgetBook,
  type BudgetReading,
  type SpentElsewhere,
  type StoredSession,
} from '@chirality/sessions'
import { EXIT, UsageError } from '../exit-code.ts'
import { chooseAction, noArgument, projectFolder, readOptions } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { plain } from '../render/style.ts'
import { spentElsewhere } from '../spent-elsewhere.ts'
import { AMOUNT_OPTIONS, type Amounts, readAmounts } from './budget/amounts.ts'
import type { BudgetOwner } from './budget/set-limits.ts'
import { findPersona } from './personas/find-persona.ts'

/** Shows and sets the budget of a project, a session or a persona. */
export async function budget(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, OPTIONS)
  const { run, rest } = chooseAction('budget', positionals.length > 0 ? positionals : ['show'], ACTIONS)
  noArgument(rest)
  const { project, session, persona, json = false, ...given } = values
  if (session !== undefined && (persona !== undefined || project !== undefined))
    throw new UsageError('--session cannot be combined with --project or --persona: the session has both.')
  const whose = await findOwner({ project, session, persona })
  await printSheet(await run(whose, readAmounts(given)), { json, output })
  return EXIT.done
}

async function findOwner(given: {
  project: string | undefined
  session: string | undefined
  persona: string | undefined
}): Promise<BudgetOwner> {
  if (given.session !== undefined) {
    // Imported on demand: it may be on another machine, and all else needs no fleet.
    const { findAnywhere } = await import('./sessions/find-anywhere.ts')
    return { kind: 'session', found: await findAnywhere(given.session) }
  }
  const project = await realpath(await projectFolder(given.project))
  return given.persona === undefined
    ? { kind: 'project', project }
    : { kind: 'persona', project, id: given.persona }
}

const ACTIONS = { show, set }

async function show(owner: BudgetOwner, amounts: Amounts): Promise<BudgetSheet> {
  const [option] = Object.keys(amounts)
  if (option !== undefined)
    throw new UsageError(`--${option} changes a budget. Write "chirality budget set".`)
  return sheetOf(owner)
}

async function set(owner: BudgetOwner, amounts: Amounts): Promise<BudgetSheet> {
  if (Object.keys(amounts).length === 0)
    throw new UsageError('Say which limit: --usd, --tokens, --minutes or --turns, each a number or none.')
  if (owner.kind !== 'project' && amounts.turns !== undefined)
    throw new UsageError('--turns is a limit of a project: leave out --session and --persona.')
  // Imported on demand: showing a budget needs no server.
  const { setLimits } = await import('./budget/set-limits.ts')
  return sheetOf(await setLimits(owner, amounts))
}

async function sheetOf(owner: BudgetOwner): Promise<BudgetSheet> {
  switch (owner.kind) {
    case 'project':
      return {
        ...sheetOfProject(owner.project, await new BudgetBook().read(owner.project)),
        elsewhere: (await spentElsewhere(owner.project))(),
      }
    case 'session':
      return sheetOfSession(owner.found.session)
    case 'persona':
      return sheetOfPersona(await findPersona(new PersonaManager(), owner.project, owner.id))
  }
}

const OPTIONS = {
  project: { type: 'string' },
  session: { type: 'string' },
  persona: { type: 'string' },
  ...AMOUNT_OPTIONS,
  json: { type: 'boolean' },
} as const

/**
 * One budget as it is shown: what was spent, of which limit. `spent` is undefined if each session counts for itself.
 */
interface BudgetSheet {
  kind: 'project' | 'session' | 'persona'
  /** The folder, the id, or the file. */
  name: string
  usd: Line
  tokens: Line
  minutes: Line
  turns?: Line
  /** What other machines spent on the project, which counts towards its limits. */
  elsewhere?: SpentElsewhere[]
  problem?: string
}

interface Line {
  /** null is an unknown cost. */
  spent?: number | null
  limit: number | null
}

function sheetOfProject(project: string, { state, problem }: BudgetReading): BudgetSheet {
  return {
    ...{ kind: 'project', name: project },
    usd: { spent: state.total_cost_usd, limit: state.max_cost_usd },
    tokens: { spent: state.total_tokens, limit: state.max_tokens },
    minutes: { spent: state.total_minutes, limit: state.max_minutes },
    turns: { spent: state.iterations, limit: state.max_iterations },
    ...(problem === undefined ? {} : { problem }),
  }
}

function sheetOfSession({ id, costUsd, tokens, workedMs, settings }: StoredSession): BudgetSheet {
  const { budgetUsd = null, budgetTokens = null, budgetMinutes = null } = settings
  return {
    ...{ kind: 'session', name: id },
    usd: { spent: costUsd, limit: budgetUsd },
    tokens: { spent: tokens, limit: budgetTokens },
    minutes: { spent: workedMs / MINUTE_MS, limit: budgetMinutes },
  }
}

function sheetOfPersona(persona: PersonaConfig): BudgetSheet {
  const { sourceFile, budgetUsd = null, budgetTokens = null, budgetMinutes = null } = persona
  return {
    ...{ kind: 'persona', name: sourceFile },
    ...{ usd: { limit: budgetUsd }, tokens: { limit: budgetTokens }, minutes: { limit: budgetMinutes } },
  }
}

async function printSheet(
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
  const others = (sheet.elsewhere ?? []).map(
    ({ machine, at, turns, ...spent }) =>
      `  on ${machine}, ${ageText(at)}: ${usdText(spent.usd ?? 0)}, ${count(spent.tokens)} tokens, ${formatDuration(spent.ms)}, ${count(turns)} turns\n`,
  )
  const also = others.length === 0 ? '' : `Counted towards the limits, too:\n${others.join('')}`
  await output.write(`${title}\n${lines.join('')}${also}`)
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
