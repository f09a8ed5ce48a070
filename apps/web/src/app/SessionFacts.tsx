import { useQuery } from '@tanstack/react-query'
import { useApi } from '../state/use-api.ts'
import { useFleetStore, useStatus } from '../state/use-fleet.ts'
import { useStorePart } from '../state/use-session.ts'
import { useSessionHub } from '../state/use-session-hub.ts'
import { formatCount, formatUsd } from '../ui/format.ts'
import { Meter } from '../ui/Meter.tsx'
import { harnessLabel, permissionLabel } from './labels.ts'

const CONTEXT_REFRESH_MS = 15_000

/** What the session in view runs on, how full it is, and what it costs. */
export function SessionFacts({ sessionId }: { sessionId: string }) {
  const store = useSessionHub().store(sessionId)
  // Parts, not the whole: text that streams changes nothing of what is shown here.
  const agent = useStorePart(store, ({ state }) => state.agent)
  const phase = useStorePart(store, ({ state }) => state.phase)
  const turnCount = useStorePart(store, ({ state }) => state.turns.length)
  const driftCount = useStorePart(store, ({ state }) => state.driftCount)
  const contextTokens = useStorePart(store, ({ state }) => state.contextTokens)
  const costUsd = useStorePart(store, ({ state }) => state.costUsd)
  const budget = useStorePart(store, ({ extras }) => extras.budget)
  const status = useStatus(sessionId)
  const fleet = useFleetStore()
  const api = useApi()
  const usage = useQuery({
    queryKey: ['context', sessionId, turnCount],
    queryFn: () => api.contextUsage(sessionId),
    refetchInterval: phase === 'idle' ? false : CONTEXT_REFRESH_MS,
    retry: false,
  }).data
  const spent = Math.max(status?.costUsd ?? 0, costUsd)
  const burn = fleet.burn(sessionId, Date.now())
  return (
    <>
      <span className="truncate">{agent.model ?? status?.model ?? 'default model'}</span>
      <span className="status-bar__item">
        {harnessLabel(agent.harness ?? status?.harness ?? null)}
        {agent.version ? ` ${agent.version}` : ''}
        {driftCount > 0 ? (
          <span className="status-bar__drift" title="Events that this version does not know; see Raw">
            {`drift ${driftCount}`}
          </span>
        ) : null}
      </span>
      {status ? <span>{status.mode}</span> : null}
      {agent.permissionMode ? <span>{permissionLabel(agent.permissionMode)}</span> : null}
      {usage ? (
        <span className="status-bar__item">
          {`context ${Math.round((usage.usedTokens / usage.maxTokens) * 100)} %`}
          <Meter label="Context used" value={usage.usedTokens} max={usage.maxTokens} />
        </span>
      ) : contextTokens > 0 ? (
        <span>{`context ${formatCount(contextTokens)}`}</span>
      ) : null}
      <span className="spacer" />
      <span className="number">
        {formatUsd(spent)}
        {budget ? ` of ${formatUsd(budget.limitUsd)}` : ''}
        {burn > 0 ? ` · ${formatUsd(burn)}/min` : ''}
      </span>
    </>
  )
}
