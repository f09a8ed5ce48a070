import { Link } from '@tanstack/react-router'
import type { SessionStatus } from '../../state/server/answers.ts'
import { taskLine } from '../sidebar/groups.logic.ts'

/** In the session of a task that its loop does not go on with: why, and where that is answered. Not by a message here. */
export function TaskNotice({ status: { task, phase } }: { status: SessionStatus }) {
  if (phase !== 'idle' || task === undefined) return null
  if (task.status !== 'parked' && task.status !== 'failed') return null
  const { loopId, list } = task
  return (
    <p className="trust trust--unused" role="status">
      <span>{`Loop ${list}: ${taskLine(task)}`}</span>
      <Link className="button button--small" to="/loops/$loopId" params={{ loopId }}>
        {task.status === 'parked' ? 'Answer in the loop' : 'Open the loop'}
      </Link>
    </p>
  )
}
