import { Link } from '@tanstack/react-router'
import { memo, useSyncExternalStore } from 'react'
import { seenSeq, seenVersion, subscribeSeen } from '../../state/seen.ts'
import type { SessionStatus } from '../../state/server-api.ts'
import { Dot } from '../../ui/Dot.tsx'
import { formatUsd } from '../../ui/format.ts'
import { groupOf, statusLine, toneOf } from './groups.logic.ts'
import { SessionMenu } from './SessionMenu.tsx'
import { sessionTitle } from './session-title.ts'

export const SessionRow = memo(function SessionRow({
  status,
  active,
}: {
  status: SessionStatus
  active: boolean
}) {
  useSyncExternalStore(subscribeSeen, seenVersion)
  const { sessionId } = status
  const unread = !active && groupOf(status) === 'Done' && status.lastSeq > seenSeq(sessionId)
  const title = unread ? 'session-row__title session-row__title--new truncate' : 'session-row__title truncate'
  return (
    <li className={active ? 'session-row session-row--on' : 'session-row'}>
      <Link
        className="session-row__link"
        to="/s/$sessionId"
        params={{ sessionId }}
        aria-current={active ? 'page' : undefined}
      >
        <Dot tone={toneOf(status)} />
        <span className={title}>
          {sessionTitle(status)}
          {unread ? <span className="hidden-visually"> (new)</span> : null}
        </span>
        <span className="number">{formatUsd(status.costUsd)}</span>
        <span className="session-row__line truncate">{statusLine(status, Date.now())}</span>
      </Link>
      <SessionMenu status={status} active={active} />
    </li>
  )
})
