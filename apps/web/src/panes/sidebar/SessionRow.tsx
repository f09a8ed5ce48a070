import { Link } from '@tanstack/react-router'
import { memo, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { placeName } from '../../app/project.ts'
import { seenSeq, seenVersion, subscribeSeen } from '../../state/kept/seen.ts'
import type { SessionStatus } from '../../state/server/answers.ts'
import { Cost } from '../../ui/marks/Cost.tsx'
import { Dot } from '../../ui/marks/Dot.tsx'
import { useNow } from '../../ui/text/use-now.ts'
import { sessionTitle } from '../../words/session-title.ts'
import { dangerousRequest, isNews, statusLine, toneOf } from './groups.logic.ts'
import { RenameField, SessionMenu } from './SessionMenu.tsx'
import { useListActions } from './use-list-actions.ts'

export const SessionRow = memo(function SessionRow({
  status,
  active,
  showProject,
}: {
  status: SessionStatus
  active: boolean
  /** Where sessions of several projects stand together. */
  showProject: boolean
}) {
  useSyncExternalStore(subscribeSeen, seenVersion)
  const { sessionId } = status
  const now = useNow()
  const { rename } = useListActions()
  const [renaming, setRenaming] = useState(false)
  const row = useRef<HTMLLIElement>(null)
  // Chosen elsewhere, by a key or a link: the list follows.
  useEffect(() => {
    if (active) row.current?.scrollIntoView({ block: 'nearest' })
  }, [active])
  const unread = !active && isNews(status, seenSeq(sessionId))
  return (
    <li ref={row} className={active ? 'session-row session-row--on' : 'session-row'}>
      {renaming ? (
        <RenameField
          title={status.title ?? ''}
          onDone={title => {
            setRenaming(false)
            if (title !== null) rename(sessionId, title)
          }}
        />
      ) : null}
      <Link
        className="session-row__link"
        to="/s/$sessionId"
        params={{ sessionId }}
        aria-current={active ? 'page' : undefined}
      >
        <Dot tone={toneOf(status)} />
        <span className={unread ? 'session-row__title session-row__title--new' : 'session-row__title'}>
          <span className="truncate">{sessionTitle(status)}</span>
          {unread ? <span className="hidden-visually">new</span> : null}
        </span>
        <Cost status={status} />
        <span
          className={
            dangerousRequest(status)
              ? 'session-row__line session-row__line--danger truncate'
              : 'session-row__line truncate'
          }
        >
          {showProject || status.machine ? (
            <span className="session-row__project">{placeName(status)}</span>
          ) : null}
          {statusLine(status, now)}
        </span>
      </Link>
      <SessionMenu status={status} onRename={() => setRenaming(true)} />
    </li>
  )
})
