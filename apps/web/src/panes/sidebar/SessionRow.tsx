import { Link, useNavigate } from '@tanstack/react-router'
import { memo, useSyncExternalStore } from 'react'
import { seenSeq, seenVersion, subscribeSeen } from '../../state/seen.ts'
import type { SessionStatus } from '../../state/server-api.ts'
import { useApi } from '../../state/use-api.ts'
import { useFleetStore } from '../../state/use-fleet.ts'
import { Dot } from '../../ui/Dot.tsx'
import { messageOf } from '../../ui/error-message.ts'
import { formatUsd } from '../../ui/format.ts'
import { IconButton } from '../../ui/IconButton.tsx'
import { Menu } from '../../ui/Menu.tsx'
import { toasts } from '../../ui/toast-store.ts'
import { groupOf, statusLine, toneOf } from './groups.logic.ts'
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
  return (
    <li className={active ? 'session-row session-row--on' : 'session-row'}>
      <Link
        className="session-row__link"
        to="/s/$sessionId"
        params={{ sessionId }}
        aria-current={active ? 'page' : undefined}
      >
        <Dot tone={toneOf(status)} />
        <span
          className={
            unread ? 'session-row__title session-row__title--new truncate' : 'session-row__title truncate'
          }
        >
          {sessionTitle(status)}
          {unread ? <span className="hidden-visually"> (new)</span> : null}
        </span>
        <span className="number">{formatUsd(status.costUsd)}</span>
        <span className="session-row__line truncate">{statusLine(status, Date.now())}</span>
      </Link>
      <RowMenu status={status} active={active} />
    </li>
  )
})

function RowMenu({ status, active }: { status: SessionStatus; active: boolean }) {
  const api = useApi()
  const fleet = useFleetStore()
  const navigate = useNavigate()
  const { sessionId } = status
  const attempt = (action: Promise<unknown>) =>
    void action.catch((error: unknown) => toasts.error(messageOf(error)))
  const rename = () => {
    const title = window.prompt('Name of the session', status.title ?? '')
    if (title?.trim())
      attempt(
        api
          .renameSession(sessionId, title.trim())
          .then(() => fleet.update([{ ...status, title: title.trim() }])),
      )
  }
  const fork = () =>
    attempt(
      api
        .forkSession(sessionId)
        .then(({ id }) => navigate({ to: '/s/$sessionId', params: { sessionId: id } })),
    )
  const remove = () => {
    if (!window.confirm(`Delete "${sessionTitle(status)}" and all that is kept of it?`)) return
    attempt(
      api.deleteSession(sessionId).then(() => {
        fleet.remove(sessionId)
        if (active) void navigate({ to: '/' })
      }),
    )
  }
  return (
    <Menu
      trigger={
        <IconButton
          className="icon-button session-row__more"
          icon="more"
          label={`More for ${sessionTitle(status)}`}
        />
      }
      items={[
        { label: 'Rename…', onSelect: rename },
        { label: 'Fork', onSelect: fork },
        {
          label: 'Only this project',
          onSelect: () => void navigate({ to: '/p/$project', params: { project: status.projectRoot } }),
        },
        { label: 'Delete…', onSelect: remove, danger: true },
      ]}
    />
  )
}
