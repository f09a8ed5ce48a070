/** One line for each row of the report, for a spreadsheet. */
export function usageCsv({ rows }: { rows: readonly CsvRow[] }): string {
  const head = 'time,project,agent,model,persona,usd,estimate,tokens,unpriced_tokens,machine'
  const lines = rows.map(({ time, projectRoot, harness, model, persona, ...amount }) => {
    const { usd, isEstimate, tokens, unpricedTokens, machine = null } = amount
    const spent = [usd, isEstimate, tokens, unpricedTokens, machine]
    const cells = [time, projectRoot, harness, model, persona, ...spent]
    return cells.map(csvCell).join(',')
  })
  return `${[head, ...lines].join('\n')}\n`
}

export interface CsvRow {
  time: string
  projectRoot: string
  harness: string | null
  model: string | null
  persona: string | null
  usd: number
  isEstimate: boolean
  tokens: number
  unpricedTokens: number
  /** Absent for this one. */
  machine?: string | undefined
}

/** Quoted where it must be; what a spreadsheet would take for a formula is text. */
function csvCell(value: string | number | boolean | null): string {
  if (value === null) return ''
  if (typeof value !== 'string') return String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
