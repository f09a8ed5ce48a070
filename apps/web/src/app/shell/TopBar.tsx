import { needsYouText } from '@chirality/core'
import { Link, useParams } from '@tanstack/react-router'
import { useEffect, useEffectEvent, useState } from 'react'
import { useIsPanelSheet } from '../../panes/session/panel-place.ts'
import { countNeedsYou, toneOf } from '../../panes/sidebar/groups.logic.ts'
import { RenameField, SessionMenu } from '../../panes/sidebar/SessionMenu.tsx'
import { useListActions } from '../../panes/sidebar/use-list-actions.ts'
import { useFleet, useParked, useStatus } from '../../state/fleet/use-fleet.ts'
import { setLayout, useLayout } from '../../state/kept/layout.ts'
import type { SessionStatus } from '../../state/server/answers.ts'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { isTyping } from '../../ui/keys/is-typing.ts'
import { Dot } from '../../ui/marks/Dot.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { sessionTitle } from '../../words/session-title.ts'
import { machineWords, projectName, toSlug } from '../project.ts'
import { BrandLink } from './BrandLink.tsx'
import { useShell } from './shell-context.ts'

/** The head of the sheet: which session it is. On other pages it is there on a phone only, where there is no sidebar. */
export function TopBar() {
  const { sessionId } = useParams({ strict: false })
  return sessionId ? <SessionBar sessionId={sessionId} /> : <PhoneBar />
}

function SessionBar({ sessionId }: { sessionId: string }) {
  const shell = useShell()
  const status = useStatus(sessionId)
  const waiting = countNeedsYou(useFleet(), useParked())
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
          <SessionTitle key={sessionId} status={status} />
          <Link
            className="chip-fact top-bar__project only-wide"
            to="/p/$project"
            params={{ project: toSlug(status.projectRoot) }}
          >
            <Icon name="folder" size={13} />
            {projectName(status.projectRoot)}
          </Link>
          {status.machine ? (
            <span className="chip-fact top-bar__machine">
              <Icon name={status.machine.state === 'here' ? 'screen' : 'offline'} size={13} />
              {machineWords(status.machine)}
            </span>
          ) : null}
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
          aria-label={needsYouText(waiting)}
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

/** The name, written over where it stands, and what else is done with the session; each with a key. */
function SessionTitle({ status }: { status: SessionStatus }) {
  const { sessionId, shelf } = status
  const { rename, shelve } = useListActions()
  const [renaming, setRenaming] = useState(false)
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat
    if (!isPlain || isTyping(event.target) || document.querySelector('dialog[open]')) return
    if (event.key === 'r') setRenaming(true)
    else if (event.key === 'p') shelve([sessionId], shelf === 'pinned' ? null : 'pinned')
    else if (event.key === 'z') shelve([sessionId], shelf === 'archived' ? null : 'archived')
    else return
    event.preventDefault()
  })
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event)
    window.addEventListener('keydown', listener)
    return () => window.removeEventListener('keydown', listener)
  }, [])
  return (
    <>
      {shelf === null ? null : (
        <span role="img" aria-label={SHELVES[shelf].label} className="top-bar__shelf">
          <Icon name={SHELVES[shelf].icon} size={13} />
        </span>
      )}
      <h1 className="top-bar__title truncate" onDoubleClick={() => setRenaming(true)}>
        {renaming ? (
          <RenameField
            title={status.title ?? ''}
            onDone={title => {
              setRenaming(false)
              if (title !== null) rename(sessionId, title)
            }}
          />
        ) : (
          sessionTitle(status)
        )}
      </h1>
      <SessionMenu
        status={status}
        onRename={() => setRenaming(true)}
        trigger={<IconButton className="icon-button top-bar__more" icon="down" label="Actions" />}
      />
    </>
  )
}

const SHELVES = {
  pinned: { icon: 'pin', label: 'Pinned' },
  archived: { icon: 'archive', label: 'Archived' },
} as const

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
