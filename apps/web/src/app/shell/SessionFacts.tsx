import { asOf } from '@chirality/client/queries'
import { MODE_WORDS, permissionLabel, versionNote, versionSupport } from '@chirality/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useFleetStore, useStatus } from '../../state/fleet/use-fleet.ts'
import { useClient, useHarness } from '../../state/server/use-client.ts'
import { useSessionHub, useStorePart } from '../../state/session/use-session.ts'
import { usePermissionMode } from '../../state/session/use-settings.ts'
import { Meter } from '../../ui/marks/Meter.tsx'
import { formatCost, formatCount, formatUsd } from '../../ui/text/format.ts'
import { useNow } from '../../ui/text/use-now.ts'
import { useHarnessLabel } from '../labels.ts'
import { useShell } from './shell-context.ts'

const CONTEXT_REFRESH_MS = 15_000

/** Agent, context and cost of the session in view. */
export function SessionFacts({ sessionId }: { sessionId: string }) {
  const store = useSessionHub().store(sessionId)
  // Parts, not the whole: text that streams changes nothing of what is shown here.
  const agent = useStorePart(store, ({ state }) => state.agent)
  const driftCount = useStorePart(store, ({ state }) => state.driftCount)
  const status = useStatus(sessionId)
  const permissionMode = usePermissionMode(sessionId)
  const harness = agent.harness ?? status?.harness ?? null
  const label = useHarnessLabel(harness)
  return (
    <>
      <span className="truncate">{agent.model ?? status?.model ?? 'default model'}</span>
      <span className="status-bar__item">
        {label}
        {agent.version ? ` ${agent.version}` : ''}
        {agent.version && !status?.machine ? <NeverTested harness={harness} version={agent.version} /> : null}
        {driftCount > 0 ? (
          <span className="status-bar__drift" title="Events that this version does not know; see Raw">
            {`drift ${driftCount}`}
          </span>
        ) : null}
      </span>
      {status ? <span>{MODE_WORDS[status.mode].label}</span> : null}
      <span>{permissionLabel(permissionMode)}</span>
      <ContextUsed sessionId={sessionId} />
      <span className="spacer" />
      <Spent sessionId={sessionId} />
    </>
  )
}

/** Marks a release that neither the tests nor a trial on this machine have run, with a link to a trial. */
function NeverTested({ harness, version }: { harness: string | null; version: string }) {
  const client = useClient()
  const info = useHarness(harness)
  const support = versionSupport(version, info?.versions)
  const isUnknown = support === 'newer' || support === 'untested'
  const { data } = useQuery(
    client.harnesses.trials.queryOptions(undefined, { enabled: isUnknown, retry: false }),
  )
  // Without the trials of this machine nobody knows whether it was tested.
  if (!isUnknown || !data || !info?.versions) return null
  if (data.reports.some(report => report.harness === harness && report.version === version)) return null
  return (
    <Link
      className="status-bar__untested"
      to="/settings/$section"
      params={{ section: 'agents' }}
      title={`${info.name} ${version} is ${versionNote(support, info.versions)}. A trial takes no account and no tokens.`}
    >
      never tested: try it
    </Link>
  )
}

function ContextUsed({ sessionId }: { sessionId: string }) {
  const client = useClient()
  const store = useSessionHub().store(sessionId)
  const phase = useStorePart(store, ({ state }) => state.phase)
  const turnCount = useStorePart(store, ({ state }) => state.turns.length)
  const contextTokens = useStorePart(store, ({ state }) => state.contextTokens)
  const usage = useQuery(
    asOf(
      client.turns.contextUsage.queryOptions(
        { sessionId },
        { refetchInterval: phase === 'idle' ? false : CONTEXT_REFRESH_MS, retry: false },
      ),
      turnCount,
    ),
  ).data
  const used = usage?.usedTokens ?? contextTokens
  if (usage && used > 0) {
    return (
      <span className="status-bar__item">
        {`context ${Math.round((used / usage.maxTokens) * 100)} %`}
        <Meter label="Context used" value={used} max={usage.maxTokens} />
      </span>
    )
  }
  return contextTokens > 0 ? <span>{`context ${formatCount(contextTokens)} tokens`}</span> : null
}

/** Against the budget and by the minute; in tokens where nobody knows the price. The server's number, as in every list. */
function Spent({ sessionId }: { sessionId: string }) {
  const status = useStatus(sessionId)
  const burn = useFleetStore().burn(sessionId, useNow())
  if (!status) return null
  const { costUsd, costIsEstimate, tokens, budgetUsd, budgetTokens } = status
  const ofTokens = budgetTokens === null ? '' : ` of ${formatCount(budgetTokens)}`
  if (costUsd === null || budgetTokens !== null) {
    const usd = costUsd === null ? '' : `${formatCost(costUsd, costIsEstimate)} · `
    return tokens > 0 ? (
      <LimitsButton sessionId={sessionId}>{`${usd}${formatCount(tokens)}${ofTokens} tokens`}</LimitsButton>
    ) : null
  }
  // Nothing was asked of a model yet, and it may be one whose price nobody knows.
  if (tokens === 0 && costUsd === 0 && budgetUsd === null) return null
  return (
    <LimitsButton sessionId={sessionId}>
      {formatCost(costUsd, costIsEstimate)}
      {budgetUsd === null ? '' : ` of ${formatUsd(budgetUsd)}`}
      {burn > 0 ? ` · ${formatUsd(burn)}/min` : ''}
    </LimitsButton>
  )
}

function LimitsButton({ sessionId, children }: { sessionId: string; children: ReactNode }) {
  const shell = useShell()
  return (
    <button
      type="button"
      className="number status-bar__spent"
      title="Limits of this session"
      onClick={() => shell.open({ kind: 'limits', sessionId })}
    >
      {children}
    </button>
  )
}
