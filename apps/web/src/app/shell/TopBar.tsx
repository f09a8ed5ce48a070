import { Link, useParams } from '@tanstack/react-router'
import { useIsPanelSheet } from '../../panes/session/panel-place.ts'
import { countNeedsYou, toneOf } from '../../panes/sidebar/groups.logic.ts'
import { sessionTitle } from '../../panes/sidebar/session-title.ts'
import { useFleet, useStatus } from '../../state/fleet/use-fleet.ts'
import { setLayout, useLayout } from '../../state/kept/layout.ts'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { Dot } from '../../ui/marks/Dot.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { projectName, toSlug } from '../project.ts'
import { BrandLink } from './BrandLink.tsx'
import { needsYouWords } from './StatusBar.tsx'
import { useShell } from './shell-context.ts'

/** The head of the sheet: which session it is. On other pages it is there on a phone only, where there is no sidebar. */
export function TopBar() {
  const { sessionId } = useParams({ strict: false })
  return sessionId ? <SessionBar sessionId={sessionId} /> : <PhoneBar />
}

function SessionBar({ sessionId }: { sessionId: string }) {
  const shell = useShell()
  const status = useStatus(sessionId)
  const waiting = countNeedsYou(useFleet())
  const { panel } = useLayout()
  const isSheet = useIsPanelSheet()
  const toggle = () => {
    if (isSheet) shell.open({ kind: 'panel' })
    else setLayout({ panel: panel === 'open' ? 'closed' : 'open' })
  }
  return (
    <header className="top-bar">
      <IconButton
        className="only-small"
        icon="menu"
        label="Sessions"
        onClick={() => shell.open({ kind: 'sidebar' })}
      />
      {status ? (
        <>
          <span className="top-bar__dot">
            <Dot tone={toneOf(status)} />
          </span>
          <h1 className="top-bar__title truncate">{sessionTitle(status)}</h1>
          <Link
            className="chip-fact top-bar__project only-wide"
            to="/p/$project"
            params={{ project: toSlug(status.projectRoot) }}
          >
            <Icon name="folder" size={13} />
            {projectName(status.projectRoot)}
          </Link>
          {status.worktree ? (
            <span className="chip-fact only-wide" title={status.worktree.folder ?? undefined}>
              <Icon name="branch" size={13} />
              {status.worktree.branch ?? 'worktree'}
            </span>
          ) : null}
        </>
      ) : null}
      <span className="spacer" />
      {waiting > 0 ? (
        <button
          type="button"
          className="top-bar__tray only-small"
          aria-label={needsYouWords(waiting)}
          onClick={() => shell.open({ kind: 'tray' })}
        >
          {waiting}
        </button>
      ) : null}
      <IconButton
        className="only-small"
        icon="search"
        label="Find"
        onClick={() => shell.open({ kind: 'palette' })}
      />
      <IconButton icon="contents" label="Contents" onClick={() => shell.open({ kind: 'contents' })} />
      <IconButton
        icon="panel"
        label="Changes and more"
        {...(isSheet ? {} : { 'aria-pressed': panel === 'open' })}
        onClick={toggle}
      />
    </header>
  )
}

function PhoneBar() {
  const shell = useShell()
  return (
    <header className="top-bar only-small">
      <BrandLink />
      <span className="spacer" />
      <IconButton icon="search" label="Find" onClick={() => shell.open({ kind: 'palette' })} />
      <IconButton icon="plus" label="New session" onClick={() => shell.open({ kind: 'new-session' })} />
    </header>
  )
}
