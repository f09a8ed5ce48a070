import { formatCost, formatUsd } from '../text/format.ts'

interface Priced {
  costUsd: number | null
  costIsEstimate: boolean
  tokens: number
}

/** Cost of a session, with its rate where that is known; nothing where the price is unknown. */
export function Cost({ status, burn = 0 }: { status: Priced; burn?: number }) {
  if (status.costUsd === null || (status.costUsd === 0 && status.tokens === 0)) return null
  return (
    <span className="number">{`${formatCost(status.costUsd, status.costIsEstimate)}${burn > 0 ? ` · ${formatUsd(burn)}/min` : ''}`}</span>
  )
}
