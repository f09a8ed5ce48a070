import type { PermissionDecision } from '@chirality/core'
import type {
  LiveSession,
  PageOptions,
  PendingDecision,
  SessionLog,
  SessionPage,
  SessionStatus,
  StoredSession,
} from '@chirality/sessions'
import type { z } from 'zod'
import type { CALLS } from '../contract/calls.ts'
import { callError, elsewhere } from '../errors/call-error.ts'
import {
  type FleetService,
  labelled,
  type RemoteSession,
  remoteSession,
  remoteSessions,
} from '../fleet/fleet-service.ts'
import type { AppServices } from './context.ts'

/** A session of a registered project. The project is opened if needed. */
export async function liveSession(services: AppServices, sessionId: string): Promise<LiveSession> {
  const { host, projects } = services
  const open = host.openSession(sessionId)
  if (open === undefined) {
    await storedSession(services, sessionId)
    return host.session(sessionId)
  }
  requireKept(services, sessionId)
  await projects.require(open.status.projectRoot)
  return open
}

export async function storedSession(services: AppServices, sessionId: string): Promise<StoredSession> {
  requireKept(services, sessionId)
  requireHere(services, sessionId)
  const { host, projects } = services
  const session = await host.store.resume(sessionId)
  await projects.require(session.projectRoot)
  return session
}

export function requireKept({ discarded }: Pick<AppServices, 'discarded'>, sessionId: string): void {
  if (discarded.has(sessionId))
    throw callError('not-found', `The session ${sessionId} was deleted. It can be restored for a minute.`)
}

/** What cannot be done with a session of another machine says where it is, not that there is none. */
function requireHere({ fleet }: Pick<AppServices, 'fleet'>, sessionId: string): void {
  const owner = remoteSession(fleet, sessionId)?.machine
  if (owner !== undefined) throw elsewhere(owner)
}

/** Reads the log of a session, or the mirrored one of a session of another machine. */
export async function withLog<T>(
  services: AppServices,
  sessionId: string,
  read: (log: SessionLog) => T | Promise<T>,
): Promise<T> {
  const { log, close } = await openLog(services, sessionId)
  try {
    return await read(log)
  } finally {
    await close()
  }
}

export async function openLog(
  services: AppServices,
  sessionId: string,
): Promise<{ log: SessionLog; close: () => Promise<void> }> {
  if (services.fleet === undefined || remoteSession(services.fleet, sessionId) === undefined)
    return { log: (await liveSession(services, sessionId)).log, close: async () => {} }
  const log = await services.fleet.log(sessionId)
  return { log, close: () => log.close() }
}

/** A new session, on this machine if none is named. */
export async function createSession(
  { fleet, host, projects }: AppServices,
  { project, machine, ...options }: z.infer<typeof CALLS.sessions.create.input>,
): Promise<StoredSession> {
  if (machine === undefined || machine === fleet?.info().machine)
    return host.createSession(await projects.require(project), options)
  if (fleet === undefined) throw callError('unsupported', 'This server is in no fleet.')
  return fleet.create(machine, { project, ...options })
}

/** A session with its current state. */
export async function shownSession(services: AppServices, sessionId: string): Promise<StoredSession> {
  const remote = remoteSession(services.fleet, sessionId)
  if (services.fleet !== undefined && remote !== undefined) return shownRemote(services.fleet, remote)
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
  const isWanted = ({ id }: StoredSession) => !services.discarded.has(id)
  const found = await host.store.page({ ...page, ...of, isWanted })
  const own = { ...found, sessions: asItIsNow(services, found.sessions) }
  return services.fleet === undefined || projectRoot !== undefined
    ? own
    : withRemote(services.fleet, own, page)
}

function shownRemote(fleet: FleetService, { machine, session, status }: RemoteSession): StoredSession {
  return labelled(fleet, machine, { ...session, status: status === null ? 'idle' : PHASES[status.phase] })
}

/** Adds the sessions of other machines to a page, in the same order and with the same cursor. */
function withRemote(
  fleet: FleetService,
  own: SessionPage,
  { limit = DEFAULT_PAGE, cursor }: PageOptions,
): SessionPage {
  const [time = Number.POSITIVE_INFINITY, after = ''] = cursor?.split(/_(.*)/s) ?? []
  const isAfter = ({ updatedAt, id }: StoredSession) => {
    const at = Date.parse(updatedAt)
    return cursor === undefined || at < Number(time) || (at === Number(time) && id > String(after))
  }
  const others = remoteSessions(fleet).flatMap(one =>
    isAfter(one.session) ? [{ session: one.session, show: () => shownRemote(fleet, one) }] : [],
  )
  const all = [...own.sessions.map(session => ({ session, show: () => session })), ...others]
    .map(one => ({ ...one, at: Date.parse(one.session.updatedAt) }))
    .sort((a, b) => b.at - a.at || (a.session.id < b.session.id ? -1 : 1))
  const sessions = all.slice(0, limit).map(({ show }) => show())
  const last = sessions.at(-1)
  const isMore = all.length > limit || own.nextCursor !== undefined
  return last !== undefined && isMore
    ? { sessions, nextCursor: `${Date.parse(last.updatedAt)}_${last.id}` }
    : { sessions }
}

const DEFAULT_PAGE = 50

/** The open requests in registered projects, oldest first. */
export async function pendingDecisions(
  services: AppServices,
  sessionId?: string,
): Promise<PendingDecision[]> {
  const { host, projects, fleet } = services
  const remote = sessionId === undefined ? undefined : remoteSession(fleet, sessionId)
  if (remote !== undefined) return pendingThere(remote)
  if (sessionId !== undefined) await storedSession(services, sessionId)
  const registered = new Set((await projects.list()).map(({ root }) => root))
  const shown = new Set(
    host
      .statuses()
      .filter(status => registered.has(status.projectRoot) && !services.discarded.has(status.sessionId))
      .map(status => status.sessionId),
  )
  const own = host.decisions.pending(sessionId).filter(pending => shown.has(pending.sessionId))
  if (sessionId !== undefined) return own
  return [...own, ...remoteSessions(fleet).flatMap(pendingThere)].sort(
    (a, b) => Date.parse(a.askedAt) - Date.parse(b.askedAt),
  )
}

/** As its machine last told it. When it was asked is not told: the status changed then, or later. */
function pendingThere({ status }: RemoteSession): PendingDecision[] {
  const { sessionId, updatedAt: askedAt, pending, policyProblem } = status ?? NOTHING_PENDING
  return pending.map(request => ({
    ...{ sessionId, askedAt, request },
    ...(policyProblem === null ? {} : { policyProblem }),
  }))
}

const NOTHING_PENDING = { sessionId: '', updatedAt: '', pending: [], policyProblem: null }

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
  await storedSession(services, sessionId)
  await deleteForGood(services, sessionId)
}

/** Also of a discarded session. One that is gone already is no error. */
export async function deleteForGood(services: AppServices, sessionId: string): Promise<void> {
  const session = await services.host.store.get(sessionId)
  if (session === undefined) return
  await services.projects.require(session.projectRoot)
  // It would come back on the other machine.
  services.host.moves.requireStaying(sessionId)
  await services.host.deleteSession(sessionId)
}

/** Stops the session's work and takes it out of every list; its files are deleted a minute later. */
export async function discardSession(services: AppServices, sessionId: string): Promise<void> {
  const session = await liveSession(services, sessionId)
  services.host.moves.requireStaying(sessionId)
  // A queued message must not start the next turn.
  await session.queue.hold()
  await session.kill()
  // A move may have begun meanwhile. From here on none does.
  services.host.moves.requireStaying(sessionId)
  await services.discarded.add(sessionId)
  services.removed.tell(sessionId)
}

/** Brings a discarded session back, with all that it had. */
export async function restoreSession(services: AppServices, sessionId: string): Promise<void> {
  if (!(await services.discarded.restore(sessionId)))
    throw callError('not-found', 'It cannot be restored any more: its files are deleted.')
  const { shelf } = await storedSession(services, sessionId)
  // Every client hears of it.
  await services.host.shelveSession(sessionId, shelf)
}
