import { type PermissionRequestEvent, riskTitle } from '@chirality/core'
import { Link } from '@tanstack/react-router'
import { placeName } from '../../app/project.ts'
import { useFleet } from '../../state/fleet/use-fleet.ts'
import { workFolder } from '../../state/server/server-api.ts'
import { ProjectRootContext } from '../../state/session/use-session.ts'
import { Empty } from '../../ui/marks/Empty.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { formatWait } from '../../ui/text/format.ts'
import { useNow } from '../../ui/text/use-now.ts'
import { sessionTitle } from '../sidebar/session-title.ts'
import { DecisionCard } from './DecisionCard.tsx'
import './tray.css'

/** All that waits for a person, over all sessions, to be answered here. */
export default function Tray({ onClose }: { onClose(): void }) {
  const now = useNow()
  const waiting = useFleet().filter(({ pending }) => pending.length > 0)
  return (
    <Dialog title="Waiting for you" place="right" onClose={onClose}>
      <div className="tray">
        {waiting.length === 0 ? <Empty title="Nothing waits for you" /> : null}
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
          </section>
        ))}
      </div>
    </Dialog>
  )
}

/** What is dangerous is looked at where the work is, with what led to it. */
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
