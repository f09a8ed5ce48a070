import { Link, useParams } from '@tanstack/react-router'
import { countNeedsYou } from '../../panes/sidebar/groups.logic.ts'
import { sessionTitle } from '../../panes/sidebar/session-title.ts'
import { useFleet, useStatus } from '../../state/fleet/use-fleet.ts'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { projectName, toSlug } from '../project.ts'
import { useShell } from './shell-context.ts'

export function TopBar() {
  const shell = useShell()
  const { sessionId } = useParams({ strict: false })
  const status = useStatus(sessionId ?? '')
  const waiting = countNeedsYou(useFleet())
  const needs = waiting === 1 ? 'needs you' : 'need you'
  return (
    <header className="top-bar">
      <IconButton
        className="icon-button only-small"
        icon="menu"
        label="Sessions"
        onClick={() => shell.open({ kind: 'sidebar' })}
      />
      <Link to="/" className={status ? 'top-bar__name only-wide' : 'top-bar__name'}>
        Chirality
      </Link>
      {status ? (
        <span className="top-bar__crumb truncate">
          <Link
            className="top-bar__project only-wide"
            to="/p/$project"
            params={{ project: toSlug(status.projectRoot) }}
          >
            {projectName(status.projectRoot)}
          </Link>
          <span className="only-wide">{' / '}</span>
          <h1 className="top-bar__title">{sessionTitle(status)}</h1>
        </span>
      ) : null}
      <span className="spacer" />
      {waiting > 0 ? (
        <button
          type="button"
          className="top-bar__tray"
          aria-label={`${waiting} ${needs}`}
          onClick={() => shell.open({ kind: 'tray' })}
        >
          {waiting}
          {/* On a phone the title needs the room more. */}
          <span className={status ? 'only-wide' : undefined}>{` ${needs}`}</span>
        </button>
      ) : null}
      <button
        type="button"
        className="top-bar__key"
        aria-label="Find a session or a command, Ctrl K"
        onClick={() => shell.open({ kind: 'palette' })}
      >
        <Kbd>Ctrl K</Kbd>
      </button>
      <IconButton
        className="icon-button only-small"
        icon="search"
        label="Find"
        onClick={() => shell.open({ kind: 'palette' })}
      />
      {sessionId ? (
        <IconButton
          className="top-bar__panel"
          icon="panel"
          label="Changes and more"
          onClick={() => shell.open({ kind: 'panel' })}
        />
      ) : null}
    </header>
  )
}
