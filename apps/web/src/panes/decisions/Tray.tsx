import { type PermissionRequestEvent, riskTitle } from '@chirality/core'
import { Link } from '@tanstack/react-router'
import { placeName, projectName } from '../../app/project.ts'
import { useFleet, useParked } from '../../state/fleet/use-fleet.ts'
import type { LoopTaskState } from '../../state/server/answers.ts'
import { workFolder } from '../../state/server/work-place.ts'
import { ProjectRootContext } from '../../state/session/use-session.ts'
import { Empty } from '../../ui/marks/Empty.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { formatWait } from '../../ui/text/format.ts'
import { useNow } from '../../ui/text/use-now.ts'
import { sessionTitle } from '../../words/session-title.ts'
import { PutBack } from '../loops/PutBack.tsx'
import { groupOf, statusLine } from '../sidebar/groups.logic.ts'
import { DecisionCard } from './DecisionCard.tsx'
import './tray.css'

/** All that waits for a person, over all sessions, to be answered here. */
export default function Tray({ onClose }: { onClose(): void }) {
  const now = useNow()
  const waiting = useFleet().filter(status => groupOf(status) === 'Needs you')
  const parked = useParked()
  return (
    <Dialog title="Waiting for you" place="right" onClose={onClose}>
      <div className="tray">
        {waiting.length + parked.length === 0 ? <Empty title="Nothing waits for you" /> : null}
        {waiting.map(status => (
          <section key={status.sessionId} aria-label={sessionTitle(status)}>
            <p className="tray__session">
              <Link className="truncate" to="/s/$sessionId" params={{ sessionId: status.sessionId }}>
                {sessionTitle(status)}
              </Link>
              <span className="tray__project">
                {`${placeName(status)} · ${formatWait(status.updatedAt, now)}`}
              </span>
            </p>
            <ProjectRootContext value={workFolder(status)}>
              {status.pending.map(request =>
                request.risks?.length ? (
                  <Dangerous key={request.requestId} request={request} />
                ) : (
                  <DecisionCard key={request.requestId} request={request} />
                ),
              )}
            </ProjectRootContext>
            {status.pending.length > 0 ? null : status.task?.status === 'parked' ? (
              <ParkedTask task={status.task} />
            ) : (
              <p className="tray__line">{statusLine(status, now)}</p>
            )}
          </section>
        ))}
        {parked.map(task => (
          <section key={`${task.loopId} ${task.id}`} aria-label={task.title}>
            <p className="tray__session">
              <span className="truncate">{task.title}</span>
              <span className="tray__project">
                {[projectName(task.project), task.endedAt ? formatWait(task.endedAt, now) : null]
                  .filter(Boolean)
                  .join(' · ')}
              </span>
            </p>
            <ParkedTask task={task} />
          </section>
        ))}
      </div>
    </Dialog>
  )
}

/** Why a task of a loop stands still, to be answered here. */
function ParkedTask({ task }: { task: LoopTaskState }) {
  return (
    <>
      <PutBack loopId={task.loopId} task={task} />
      <Link className="tray__line" to="/loops/$loopId" params={{ loopId: task.loopId }}>
        {`Task of the loop ${task.list}`}
      </Link>
    </>
  )
}

/** Link to a dangerous request in its conversation, where its cause is in view. */
function Dangerous({ request: { sessionId, risks = [] } }: { request: PermissionRequestEvent }) {
  return (
    <div className="tray__danger">
      <Icon name="alert" />
      <span>{riskTitle(risks)}</span>
      <Link className="button" to="/s/$sessionId" params={{ sessionId }}>
        Look at it
      </Link>
    </div>
  )
}
