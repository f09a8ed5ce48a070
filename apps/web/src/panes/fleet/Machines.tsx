import { needsYouText } from '@chirality/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useFleetStore } from '../../state/fleet/use-fleet.ts'
import type { Machine, SessionStatus } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { Icon } from '../../ui/marks/Icon.tsx'
import { formatUsd, plural } from '../../ui/text/format.ts'
import { useNow } from '../../ui/text/use-now.ts'
import { countNeedsYou } from '../sidebar/groups.logic.ts'
import './machines.css'

const REFRESH_MS = 5_000

/** None without a fleet. */
export function useMachines() {
  const client = useClient()
  return useQuery(
    client.fleet.machines.queryOptions(undefined, { refetchInterval: REFRESH_MS, retry: false }),
  )
}

/** The machines above the list of all sessions: which are there, and what they do. */
export function MachineStrip({ sessions }: { sessions: readonly SessionStatus[] }) {
  const machines = useMachines().data ?? []
  if (machines.length === 0) return null
  return (
    <section aria-label="Machines">
      <ul className="machines">
        {machines.map(machine => (
          <MachineCard key={machine.machine} machine={machine} sessions={sessions} />
        ))}
      </ul>
      <Link className="machines__more" to="/settings/$section" params={{ section: 'machines' }}>
        Machines, invitations and rights
      </Link>
    </section>
  )
}

/** One machine in a few lines. */
export function MachineCard(props: {
  machine: Machine
  sessions: readonly SessionStatus[]
  children?: ReactNode
}) {
  const { machine, sessions, children } = props
  const { machine: name, state, isThis, busy, slots, load } = machine
  const store = useFleetStore()
  const now = useNow()
  const own = sessions.filter(status => (isThis ? !status.machine : status.machine?.name === name))
  const needs = countNeedsYou(own)
  const burn = own.reduce((sum, { sessionId }) => sum + store.burn(sessionId, now), 0)
  const isHere = state === 'here'
  return (
    <li className={isHere ? 'machine' : 'machine machine--away'}>
      <span className="machine__head">
        <Icon name={isHere ? 'screen' : 'offline'} />
        <b className="truncate">{name}</b>
        <span className="machine__state">{stateWords(machine)}</span>
      </span>
      <span className="machine__line number">
        {[
          plural(own.length, 'session'),
          ...(needs > 0 ? [needsYouText(needs)] : []),
          ...(burn > 0 ? [`${formatUsd(burn)}/min`] : []),
          ...(isHere ? [`${busy} of ${slots} at work`, `load ${load.toFixed(2)} per core`] : []),
        ].join(' · ')}
      </span>
      {children}
    </li>
  )
}

function stateWords({ state, isThis, hasKey, heardSecondsAgo }: Machine): string {
  if (isThis) return 'this machine'
  if (hasKey === false) return 'rights taken away'
  if (state === 'here') return 'connected'
  if (state === 'unknown') return 'not known'
  return heardSecondsAgo === null ? 'away' : `away, heard ${ago(heardSecondsAgo)}`
}

function ago(seconds: number): string {
  if (seconds < 120) return `${seconds} s ago`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min ago` : `${Math.round(seconds / 3600)} h ago`
}
