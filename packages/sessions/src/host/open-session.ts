import type { Envelope, UIEvent } from '@chirality/core'
import { openSessionLog } from '../log/open-logs.ts'
import { MessageQueue } from '../queue/message-queue.ts'
import type { QueuedMessage } from '../queue/queued-message.ts'
import { type Recovery, recoverSession } from '../recovery/recover-session.ts'
import { hasTurn } from '../recovery/turns-in-log.ts'
import type { StoredSession } from '../store/stored-session.ts'
import { SessionRecorder } from '../turns/session-recorder.ts'
import type { ProjectContext } from './host-context.ts'
import { HostedSession } from './hosted-session.ts'
import type { SessionStatus } from './session-status.ts'
import { SessionView } from './session-view.ts'

export interface OpenedSession {
  session: HostedSession
  recovery: Recovery
}

/** Opens a session of a project that is ours, with all that an earlier host left of it. */
export async function openSession(
  project: ProjectContext,
  stored: StoredSession,
  onStatus: (status: SessionStatus) => void,
): Promise<OpenedSession> {
  const { projectRoot } = project
  const log = await openSessionLog(projectRoot, stored.id)
  let session: HostedSession | undefined
  const onChange = () => {
    if (session === undefined) return
    session.wake()
    onStatus(session.status)
  }
  try {
    const view = new SessionView(stored, { onChange })
    const onRecorded = (event: UIEvent, envelope: Envelope | undefined) => {
      view.note(event, envelope)
      session?.note(event)
    }
    const recorder = new SessionRecorder({ log, onRecorded })
    const onRelease = () => void session?.sendNext()
    const queue = await MessageQueue.open({ projectRoot, sessionId: stored.id, onChange, onRelease })
    const recovery = await recoverSession({ project, view, recorder, log })
    const adopted = recovery.kind === 'adopted' ? recovery.turn.turnId : undefined
    await recoverQueue(queue, async queued => queued.id === adopted || hasTurn(log, queued))
    session = new HostedSession({ project, view, log, recorder, queue })
    await session.recoverSteered({ isOver: recovery.kind !== 'adopted' })
    log.onHealth(onChange)
    // What waits goes on behind a turn that goes on. Else a person decides: to open a project must cost nothing.
    if (recovery.kind === 'adopted') session.adopt(recovery.turn)
    else if (queue.list().length > 0 && !queue.held) await queue.hold()
    return { session, recovery }
  } catch (error) {
    await log.close()
    throw error
  }
}

/** The message that was on its way: sent, if its turn began, and else still to be sent. */
async function recoverQueue(
  queue: MessageQueue,
  hasBegun: (queued: QueuedMessage) => Promise<boolean>,
): Promise<void> {
  const { sending } = queue
  if (sending === null) return
  const queued = queue.list().find(({ id }) => id === sending)
  if (queued === undefined || (await hasBegun(queued))) await queue.sent(sending)
  else await queue.notSent({ hold: false })
}
