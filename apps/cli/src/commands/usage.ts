import { realpath } from 'node:fs/promises'
import { costText, tokensText, usageCsv } from '@chirality/core'
import { SessionStore, type UsageReport, type UsageRow, usageReport } from '@chirality/sessions'
import { EXIT, UsageError } from '../exit-code.ts'
import { sessionsOfFleet } from '../fleet-sessions.ts'
import { noArgument, oneOf, projectFolder, readOptions, wholeNumber } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { plain } from '../render/style.ts'

/** Cost and tokens over time: the numbers of the dashboard's usage page. */
export async function usage(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, OPTIONS)
  noArgument(positionals)
  if (values.all && values.project !== undefined)
    throw new UsageError('--all and --project exclude each other. Leave one out.')
  if (values.json && values.csv) throw new UsageError('--json and --csv exclude each other. Leave one out.')
  const by = oneOf('by', values.by, GROUPS) ?? 'day'
  const days = wholeNumber('days', values.days, { min: 1, max: MAX_DAYS }) ?? DEFAULT_DAYS
  const store = new SessionStore()
  const projectRoots = values.all
    ? [...new Set((await store.list()).map(({ projectRoot }) => projectRoot))]
    : [await realpath(await projectFolder(values.project))]
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  // No session is open here: one that works in a server counts as far as it is stored.
  const host = { store, openSession: () => undefined }
  const others = values.all ? await sessionsOfFleet() : []
  const report = await usageReport(host, { projectRoots, timeZone, days, others })
  if (values.json) await output.write(`${JSON.stringify(report)}\n`)
  else if (values.csv) await output.write(usageCsv(report))
  else await printTable(report, by, output)
  return EXIT.done
}

const OPTIONS = {
  project: { type: 'string' },
  all: { type: 'boolean' },
  days: { type: 'string' },
  by: { type: 'string' },
  json: { type: 'boolean' },
  csv: { type: 'boolean' },
} as const
const GROUPS = ['day', 'project', 'agent', 'model', 'persona', 'machine'] as const
type Group = (typeof GROUPS)[number]
const DEFAULT_DAYS = 30
const MAX_DAYS = 90

async function printTable(report: UsageReport, by: Group, output: Output): Promise<void> {
  const { deleted, rows } = report
  if (rows.length === 0) await tell('chirality: Nothing was spent in this time.\n')
  else await output.write(table([...groupsOf(rows, by), { name: 'total', ...sumOf(rows) }]))
  if (deleted.sessions > 0)
    await tell(
      `chirality: ${deleted.sessions} deleted sessions are not counted: ${costText({ ...deleted, isEstimate: false })}, ${tokensText(deleted.tokens)}.\n`,
    )
}

type Amounts = Pick<UsageRow, 'usd' | 'isEstimate' | 'tokens'>
type Line = Amounts & { name: string }

/** Days in their order, everything else with the most expensive first. */
function groupsOf(rows: readonly UsageRow[], by: Group): Line[] {
  const groups = new Map<string, UsageRow[]>()
  for (const row of rows) {
    const name = nameOf(row, by)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [row])
    else group.push(row)
  }
  const lines = [...groups].map(([name, all]) => ({ name, ...sumOf(all) }))
  return lines.sort((a, b) =>
    by === 'day' ? (a.name < b.name ? -1 : 1) : b.usd - a.usd || b.tokens - a.tokens,
  )
}

function nameOf({ time, projectRoot, harness, model, persona, machine }: UsageRow, by: Group): string {
  switch (by) {
    case 'day':
      return time
    case 'project':
      return projectRoot
    case 'agent':
      return harness ?? 'none'
    case 'model':
      return model ?? 'not known'
    case 'persona':
      return persona ?? 'none'
    case 'machine':
      return machine ?? 'this machine'
  }
}

function sumOf(rows: readonly Amounts[]): Amounts {
  return rows.reduce(
    (sum, { usd, isEstimate, tokens }) => ({
      usd: sum.usd + usd,
      isEstimate: sum.isEstimate || isEstimate,
      tokens: sum.tokens + tokens,
    }),
    { usd: 0, isEstimate: false, tokens: 0 },
  )
}

function table(lines: readonly Line[]): string {
  const rows = lines.map(({ name, ...amount }) => [
    plain(name),
    costText(amount) ?? '',
    tokensText(amount.tokens),
  ])
  const widths = [0, 1, 2].map(column => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  return rows
    .map(([name = '', cost = '', tokens = '']) =>
      [name.padEnd(widths[0] ?? 0), cost.padStart(widths[1] ?? 0), tokens.padStart(widths[2] ?? 0)].join(
        '  ',
      ),
    )
    .map(line => `${line}\n`)
    .join('')
}
