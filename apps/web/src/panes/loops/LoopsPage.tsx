import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { projectName } from '../../app/project.ts'
import { useLoops, useLoopsKnown } from '../../state/fleet/use-fleet.ts'
import type { LoopSummary } from '../../state/server/answers.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Dot } from '../../ui/marks/Dot.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { formatCost } from '../../ui/text/format.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { useMachines } from '../fleet/Machines.tsx'
import { countsText, listName, loopTone, stateWords } from './loop-parts.tsx'
import { StartDialog } from './StartDialog.tsx'
import '../page.css'
import './loops.css'

/** All loops, newest first, and the way to start one. */
export default function LoopsPage() {
  const loops = useLoops()
  const isKnown = useLoopsKnown()
  const [isStarting, setStarting] = useState(false)
  return (
    <ScrollRegion className="page" label="Loops">
      <div className="page__column">
        <header className="page__head">
          <h1>Loops</h1>
          <span className="spacer" />
          <Button look="primary" onClick={() => setStarting(true)}>
            Start a loop…
          </Button>
        </header>
        {!isKnown ? null : loops.length === 0 ? (
          <Empty title="No loops yet">
            A loop works through a Markdown list of tasks while you are away. Your checks decide what is done.
          </Empty>
        ) : (
          <ul className="page__list">
            {loops.map(loop => (
              <LoopRow key={loop.loopId} loop={loop} />
            ))}
          </ul>
        )}
        <OtherMachines />
      </div>
      {isStarting ? <StartDialog onClose={() => setStarting(false)} /> : null}
    </ScrollRegion>
  )
}

/** A machine lists its own loops. Their sessions are told to the hubs, their lists and receipts are not. */
function OtherMachines() {
  const machines = useMachines().data ?? []
  const names = machines.filter(({ isThis }) => !isThis).map(({ machine }) => machine)
  if (names.length === 0) return null
  return (
    <p className="loops__hint">
      {`Loops that began on another machine (${names.join(', ')}) are on its own dashboard. Their sessions are under `}
      <Link to="/fleet">All sessions</Link>.
    </p>
  )
}

function LoopRow({ loop }: { loop: LoopSummary }) {
  const { spent } = loop
  return (
    <li>
      <Link className="page__line" to="/loops/$loopId" params={{ loopId: loop.loopId }}>
        <Dot tone={loopTone(loop)} />
        <span className="page__name">
          <b className="truncate">{listName(loop)}</b>
          <span className="truncate">{`${projectName(loop.project)} · ${stateWords(loop)}`}</span>
        </span>
        <span className="loops__facts number">
          {countsText(loop)}
          {spent.usd === null ? '' : ` · ${formatCost(spent.usd, spent.isEstimate)}`}
        </span>
      </Link>
    </li>
  )
}
