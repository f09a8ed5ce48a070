import { Link, useParams } from '@tanstack/react-router'
import { Sidebar } from '../../panes/sidebar/Sidebar.tsx'
import { LAYOUT_LIMITS, setLayout, useLayout } from '../../state/kept/layout.ts'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { Splitter } from '../../ui/controls/Splitter.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { fromSlug } from '../project.ts'
import { BrandLink } from './BrandLink.tsx'
import { NAV_PAGES } from './pages.ts'
import { useShell } from './shell-context.ts'

/** The left column: pages and sessions, or only icons where the person wants the room. */
export function SideColumn() {
  const { sidebar, sidebarWidth } = useLayout()
  if (sidebar === 'rail') return <Rail />
  return (
    <div className="side" style={{ width: sidebarWidth }}>
      <SideHead />
      <Sidebar />
      <SideFoot />
      <Splitter
        label="Width of the sidebar"
        side="left"
        value={sidebarWidth}
        {...LAYOUT_LIMITS.sidebarWidth}
        onChange={width => setLayout({ sidebarWidth: width })}
      />
    </div>
  )
}

/** The same in a sheet, on a phone. */
export function SideSheet() {
  return (
    <div className="side side--sheet">
      <NewAndPages />
      <Sidebar />
      <SideFoot />
    </div>
  )
}

function SideHead() {
  const shell = useShell()
  return (
    <>
      <div className="side__head">
        <BrandLink />
        <span className="spacer" />
        <IconButton
          icon="search"
          label="Find a session or a command, Ctrl K"
          onClick={() => shell.open({ kind: 'palette' })}
        />
        <IconButton icon="sidebar" label="Hide the sidebar" onClick={() => setLayout({ sidebar: 'rail' })} />
      </div>
      <NewAndPages />
    </>
  )
}

function NewAndPages() {
  const shell = useShell()
  const project = fromSlug(useParams({ strict: false }).project)
  return (
    <>
      <button
        type="button"
        className="button side__new"
        onClick={() => shell.open({ kind: 'new-session', ...(project ? { project } : {}) })}
      >
        <Icon name="plus" />
        New session
        <span className="spacer" />
        <Kbd>N</Kbd>
      </button>
      <nav className="side__pages" aria-label="Pages">
        {NAV_PAGES.map(({ to, label, icon }) => (
          <Link key={to} to={to} className="nav-link" activeProps={ACTIVE} activeOptions={EXACT}>
            <Icon name={icon} />
            {label}
          </Link>
        ))}
      </nav>
    </>
  )
}

const ACTIVE = { className: 'nav-link nav-link--on', 'aria-current': 'page' as const }
const EXACT = { exact: true }

function SideFoot() {
  const shell = useShell()
  return (
    <div className="side__foot">
      <Link to="/settings" className="nav-link" activeProps={ACTIVE}>
        <Icon name="settings" />
        Settings
      </Link>
      <span className="spacer" />
      <IconButton icon="help" label="Keys and help" onClick={() => shell.open({ kind: 'shortcuts' })} />
    </div>
  )
}

function Rail() {
  const shell = useShell()
  return (
    <div className="side side--rail">
      <div className="side__head">
        <BrandLink bare />
      </div>
      <IconButton icon="sidebar" label="Show the sidebar" onClick={() => setLayout({ sidebar: 'open' })} />
      <IconButton icon="plus" label="New session" onClick={() => shell.open({ kind: 'new-session' })} />
      <nav className="side__pages" aria-label="Pages">
        {[...NAV_PAGES, { to: '/settings', label: 'Settings', icon: 'settings' } as const].map(
          ({ to, label, icon }) => (
            <Link
              key={to}
              to={to}
              className="icon-button"
              aria-label={label}
              title={label}
              activeOptions={EXACT}
            >
              <Icon name={icon} />
            </Link>
          ),
        )}
      </nav>
    </div>
  )
}
