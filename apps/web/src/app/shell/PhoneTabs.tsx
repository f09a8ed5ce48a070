import { Link, useParams } from '@tanstack/react-router'
import { countNeedsYou } from '../../panes/sidebar/groups.logic.ts'
import { useFleet, useParked } from '../../state/fleet/use-fleet.ts'
import { Icon } from '../../ui/marks/Icon.tsx'
import { useShell } from './shell-context.ts'
import './phone-tabs.css'

const ACTIVE = { className: 'phone-tab phone-tab--on', 'aria-current': 'page' as const }

/** The bar at the thumb. A session needs the room itself and has none. */
export function PhoneTabs() {
  const shell = useShell()
  const { sessionId } = useParams({ strict: false })
  const waiting = countNeedsYou(useFleet(), useParked())
  if (sessionId !== undefined) return null
  return (
    <nav className="phone-tabs" aria-label="Pages">
      <Link to="/" className="phone-tab" activeProps={ACTIVE} activeOptions={{ exact: true }}>
        <Icon name="home" size={20} />
        Home
      </Link>
      <button type="button" className="phone-tab" onClick={() => shell.open({ kind: 'sidebar' })}>
        <Icon name="sessions" size={20} />
        Sessions
      </button>
      <button type="button" className="phone-tab" onClick={() => shell.open({ kind: 'tray' })}>
        <Icon name="hand" size={20} />
        Needs you
        {waiting > 0 ? <span className="phone-tab__count">{waiting}</span> : null}
      </button>
      <Link to="/fleet" className="phone-tab" activeProps={ACTIVE}>
        <Icon name="fleet" size={20} />
        All
      </Link>
      <Link to="/settings" className="phone-tab" activeProps={ACTIVE}>
        <Icon name="settings" size={20} />
        Settings
      </Link>
    </nav>
  )
}
