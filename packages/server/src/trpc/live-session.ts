import type { PermissionDecision } from '@chirality/core'
import type {
  LiveSession,
  PageOptions,
  PendingDecision,
  SessionPage,
  SessionStatus,
  StoredSession,
} from '@chirality/sessions'
import type { AppServices } from './context.ts'

/** A session of a registered project. The project is opened if needed. */
export async function liveSession(services: AppServices, sessionId: string): Promise<LiveSession> {
  const { host, projects } = services
  const open = host.openSession(sessionId)
  if (open === undefined) {
    await storedSession(services, sessionId)
    return host.session(sessionId)
  }
  await projects.require(open.status.projectRoot)
  return open
}

export async function storedSession(
  { host, projects }: AppServices,
  sessionId: string,
): Promise<StoredSession> {
  const session = await host.store.resume(sessionId)
  await projects.require(session.projectRoot)
  return session
}

/** A session with its current state. */
export async function shownSession(services: AppServices, sessionId: string): Promise<StoredSession> {
  const session = await storedSession(services, sessionId)
  return asItIsNow(services, [session])[0] ?? session
}

/** Newest first, each with its current state; of all registered projects if none is named. */
export async function shownSessions(
  services: AppServices,
  { projectRoot, ...page }: PageOptions,
): Promise<SessionPage> {
  const { host, projects } = services
  const of =
    projectRoot === undefined
      ? { projectRoots: (await projects.list()).map(({ root }) => root) }
      : { projectRoot: await projects.require(projectRoot) }
  const found = await host.store.page({ ...page, ...of })
  return { ...found, sessions: asItIsNow(services, found.sessions) }
}

/** The open requests in registered projects, oldest first. */
export async function pendingDecisions(
  services: AppServices,
  sessionId?: string,
): Promise<PendingDecision[]> {
  const { host, projects } = services
  if (sessionId !== undefined) await storedSession(services, sessionId)
  const registered = new Set((await projects.list()).map(({ root }) => root))
  const shown = new Set(
    host.statuses().flatMap(status => (registered.has(status.projectRoot) ? status.sessionId : [])),
  )
  return host.decisions.pending(sessionId).filter(pending => shown.has(pending.sessionId))
}

/** A person's answer. For an unknown session the request is reported as unknown. */
export async function answerDecision(
  { host, projects }: AppServices,
  { sessionId, requestId, decision }: DecisionAnswer,
): Promise<void> {
  const status = host.statuses().find(known => known.sessionId === sessionId)
  if (status !== undefined) await projects.require(status.projectRoot)
  host.decisions.answer(sessionId, requestId, decision)
}

export interface DecisionAnswer {
  sessionId: string
  requestId: string
  decision: PermissionDecision
}

/**
 * The file of a session has the state at the time of writing. A session that is not open here counts as not running.
 */
function asItIsNow({ host }: AppServices, sessions: StoredSession[]): StoredSession[] {
  const phases = new Map(host.statuses().map(({ sessionId, phase }) => [sessionId, phase]))
  return sessions.map(session => {
    const phase = phases.get(session.id)
    return phase === undefined ? session : { ...session, status: PHASES[phase] }
  })
}

const PHASES = {
  idle: 'idle',
  starting: 'running',
  running: 'running',
  waiting: 'waiting',
  ending: 'running',
} as const satisfies Record<SessionStatus['phase'], StoredSession['status']>

/** Stops the session's work, deletes all its files, and notifies the clients. */
export async function deleteSession(services: AppServices, sessionId: string): Promise<void> {
  const { projectRoot } = await storedSession(services, sessionId)
  await services.host.deleteSession(sessionId)
  await services.changes.forget(projectRoot, sessionId)
  services.removed.tell(sessionId)
}
