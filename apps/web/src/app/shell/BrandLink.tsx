import { Link } from '@tanstack/react-router'
import { countNeedsYou, groupOf } from '../../panes/sidebar/groups.logic.ts'
import { useFleet, useParked } from '../../state/fleet/use-fleet.ts'
import { Brand } from '../../ui/marks/Dot.tsx'

/** The mark and the name, to the start page. Its halves light up while somebody works or waits. */
export function BrandLink({ bare = false }: { bare?: boolean }) {
  const fleet = useFleet()
  const parked = useParked()
  return (
    <Link to="/" className="brand-link" aria-label={bare ? 'Chirality' : undefined}>
      <Brand
        working={fleet.some(status => groupOf(status) === 'Working')}
        needsYou={countNeedsYou(fleet, parked) > 0}
      />
      {bare ? null : 'Chirality'}
    </Link>
  )
}
