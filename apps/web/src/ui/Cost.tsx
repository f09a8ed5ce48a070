import type { SessionStatus } from '../state/server-api.ts'
import { useIsPriced } from '../state/use-harness.ts'
import { formatUsd } from './format.ts'

/** What a session has cost, with what it burns where that is known; nothing where nobody knows the price. */
export function Cost({ status, burn = 0 }: { status: SessionStatus; burn?: number }) {
  if (!useIsPriced(status)) return null
  return (
    <span className="number">{`${formatUsd(status.costUsd)}${burn > 0 ? ` · ${formatUsd(burn)}/min` : ''}`}</span>
  )
}
