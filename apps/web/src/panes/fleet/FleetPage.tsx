import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useHarnessLabel } from '../../app/labels.ts'
import { placeName } from '../../app/project.ts'
import { useFleet, useFleetStore } from '../../state/fleet/use-fleet.ts'
import type { SessionStatus } from '../../state/server/answers.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Segmented } from '../../ui/controls/Segmented.tsx'
import { Cost } from '../../ui/marks/Cost.tsx'
import { Dot } from '../../ui/marks/Dot.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { formatCost, formatUsd, plural } from '../../ui/text/format.ts'
import { useNow } from '../../ui/text/use-now.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { sessionTitle } from '../../words/session-title.ts'
import { groupSessions, isArchived, statusLine, toneOf } from '../sidebar/groups.logic.ts'
import { useListActions } from '../sidebar/use-list-actions.ts'
import ImportDialog from './ImportDialog.tsx'
import { MachineStrip } from './Machines.tsx'
import './fleet.css'

/** Every session on one page: who does what, what it costs a minute, who waits; and what was put away. */
export default function FleetPage() {
  const all = useFleet()
  const store = useFleetStore()
  const now = useNow()
  const [view, setView] = useState<'current' | 'archived'>('current')
  const [selected, setSelected] = useState<ReadonlySet<string> | null>(null)
  const [importing, setImporting] = useState(false)
  const archived = all.filter(isArchived)
  const statuses = view === 'archived' ? archived : all.filter(status => !isArchived(status))
  const burn = statuses.reduce((sum, { sessionId }) => sum + store.burn(sessionId, now), 0)
  const spent = statuses.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0)
  const isEstimate = statuses.some(({ costIsEstimate }) => costIsEstimate)
  const show = (next: 'current' | 'archived') => {
    setView(next)
    setSelected(null)
  }
  const toggle = (id: string) =>
    setSelected(known => {
      const next = new Set(known)
      if (!next.delete(id)) next.add(id)
      return next
    })
  return (
    <ScrollRegion className="fleet" label="All sessions">
      <header className="fleet__head">
        <h1>All sessions</h1>
        <span className="number">{`${plural(statuses.length, 'session')} · ${formatCost(spent, isEstimate)}${burn > 0 ? ` · ${formatUsd(burn)}/min` : ''}`}</span>
      </header>
      <MachineStrip sessions={all} />
      <div className="fleet__tools">
        <Segmented
          label="Which sessions"
          value={view}
          onChange={show}
          segments={[
            { value: 'current', label: 'Current' },
            { value: 'archived', label: `Archived ${archived.length}` },
          ]}
        />
        <span className="spacer" />
        <Button onClick={() => setImporting(true)}>Import…</Button>
        <Button
          aria-pressed={selected !== null}
          disabled={statuses.length === 0}
          onClick={() => setSelected(selected === null ? new Set() : null)}
        >
          {selected === null ? 'Select' : 'Done'}
        </Button>
      </div>
      {selected === null ? null : (
        <SelectedBar
          selected={statuses.filter(({ sessionId }) => selected.has(sessionId))}
          view={view}
          onAll={() => setSelected(new Set(statuses.map(({ sessionId }) => sessionId)))}
          onDone={() => setSelected(null)}
        />
      )}
      {statuses.length > 0 ? null : view === 'archived' ? (
        <Empty title="Nothing is archived">What you archive leaves the lists and can be found here.</Empty>
      ) : (
        <Empty title="No sessions yet">Start one with N.</Empty>
      )}
      {groupSessions(statuses, { pins: true }).map(({ name, sessions }) => (
        <section key={name} aria-label={name}>
          <h2 className="fleet__group">{`${name} ${sessions.length}`}</h2>
          {/* Only what waits for a person has a surface of its own. */}
          <ul className={name === 'Needs you' ? 'fleet__grid' : 'fleet__list'}>
            {sessions.map(status => (
              <FleetCard
                key={status.sessionId}
                status={status}
                burn={store.burn(status.sessionId, now)}
                now={now}
                selected={selected === null ? null : selected.has(status.sessionId)}
                onToggle={() => toggle(status.sessionId)}
              />
            ))}
          </ul>
        </section>
      ))}
      {importing ? <ImportDialog onClose={() => setImporting(false)} /> : null}
    </ScrollRegion>
  )
}

interface SelectedBarProps {
  selected: readonly SessionStatus[]
  view: 'current' | 'archived'
  onAll(): void
  onDone(): void
}

function SelectedBar({ selected, view, onAll, onDone }: SelectedBarProps) {
  const actions = useListActions()
  const ids = selected.map(({ sessionId }) => sessionId)
  const none = ids.length === 0
  const working = selected.filter(({ phase }) => phase !== 'idle').length
  const act = (action: () => void) => () => {
    action()
    onDone()
  }
  return (
    <div className="fleet__selected" role="toolbar" aria-label="With the selected sessions">
      <span role="status">{`${ids.length} selected${working > 0 ? `, ${working} at work` : ''}`}</span>
      <Button look="quiet" onClick={onAll}>
        All
      </Button>
      <span className="spacer" />
      <Button disabled={none} onClick={act(() => void actions.exportAs(ids, 'markdown'))}>
        Export
      </Button>
      <Button
        disabled={none}
        onClick={act(() => actions.shelve(ids, view === 'archived' ? null : 'archived'))}
      >
        {view === 'archived' ? 'Back to the list' : 'Archive'}
      </Button>
      <Button look="danger" disabled={none} onClick={act(() => actions.discard(ids))}>
        {working > 0 ? 'Stop and delete' : 'Delete'}
      </Button>
    </div>
  )
}

interface FleetCardProps {
  status: SessionStatus
  burn: number
  now: number
  /** Null while nothing is selected. */
  selected: boolean | null
  onToggle(): void
}

function FleetCard({ status, burn, now, selected, onToggle }: FleetCardProps) {
  const needs = status.pending.length > 0
  const label = useHarnessLabel(status.harness)
  const look = ['fleet-card', needs && 'fleet-card--need', selected && 'fleet-card--selected']
  const className = look.filter(Boolean).join(' ')
  const facts = (
    <>
      <span className="fleet-card__title">
        {selected === null ? (
          <Dot tone={toneOf(status)} />
        ) : (
          <input type="checkbox" checked={selected} onChange={onToggle} />
        )}
        <span className="truncate">{sessionTitle(status)}</span>
      </span>
      <span className="fleet-card__line">{statusLine(status, now)}</span>
      <span className="fleet-card__foot">
        <span className="truncate">{`${placeName(status)} · ${label}`}</span>
        <Cost status={status} burn={burn} />
      </span>
    </>
  )
  return (
    <li>
      {selected === null ? (
        <Link className={className} to="/s/$sessionId" params={{ sessionId: status.sessionId }}>
          {facts}
        </Link>
      ) : (
        // biome-ignore lint/a11y/noLabelWithoutControl: the checkbox is in it
        <label className={className}>{facts}</label>
      )}
    </li>
  )
}
