import type { PermissionDecision } from '@chirality/core'
import {
  type ExportFormat,
  exportSession,
  type LiveSession,
  type PageOptions,
  type PendingDecision,
  type SessionLog,
  type SessionPage,
  type SessionStatus,
  type StoredSession,
} from '@chirality/sessions'
import type { z } from 'zod'
import type { Centre } from '../centre.ts'
import { callError, elsewhere } from '../errors.ts'
import {
  type FleetService,
  labelled,
  type RemoteSession,
  remoteSession,
  remoteSessions,
} from '../machines.ts'
import type { machineName, newSession } from '../shapes/values.ts'

/** A session of a registered project. The project is opened if needed. */
export async function liveSession(centre: Centre, sessionId: string): Promise<LiveSession> {
  const { host, projects } = centre
  const open = host.openSession(sessionId)
  if (open === undefined) {
    await storedSession(centre, sessionId)
    return host.session(sessionId)
  }
  requireKept(centre, sessionId)
  await projects.require(open.status.projectRoot)
  return open
}

export async function storedSession(centre: Centre, sessionId: string): Promise<StoredSession> {
  requireKept(centre, sessionId)
  requireHere(centre, sessionId)
  const { host, projects } = centre
  const session = await host.store.resume(sessionId)
  await projects.require(session.projectRoot)
  return session
}

export function requireKept({ discarded }: Pick<Centre, 'discarded'>, sessionId: string): void {
  if (discarded.has(sessionId))
    throw callError('not-found', `The session ${sessionId} was deleted. It can be restored for a minute.`)
}

/** A session of another machine is refused with the name of that machine: to say that there is none would be wrong. */
function requireHere({ machines }: Pick<Centre, 'machines'>, sessionId: string): void {
  const owner = remoteSession(machines, sessionId)?.machine
  if (owner !== undefined) throw elsewhere(owner)
}

/** Reads the log of a session, or the mirrored one of a session of another machine. */
export async function withLog<T>(
  centre: Centre,
  sessionId: string,
  read: (log: SessionLog) => T | Promise<T>,
): Promise<T> {
  const { log, close } = await openLog(centre, sessionId)
  try {
    return await read(log)
  } finally {
    await close()
  }
}

export async function openLog(
  centre: Centre,
  sessionId: string,
): Promise<{ log: SessionLog; close: () => Promise<void> }> {
  if (centre.machines === undefined || remoteSession(centre.machines, sessionId) === undefined)
    return { log: (await liveSession(centre, sessionId)).log, close: async () => {} }
  const log = await centre.machines.log(sessionId)
  return { log, close: () => log.close() }
}

/** Whether a turn of a session runs: of another machine, as that machine last told it. */
export function isAtWork({ host, machines }: Pick<Centre, 'host' | 'machines'>, sessionId: string): boolean {
  const remote = remoteSession(machines, sessionId)
  const status = remote === undefined ? host.openSession(sessionId)?.status : remote.status
  return status !== undefined && status !== null && status.phase !== 'idle'
}

/** A session as a file to share, with secrets removed. */
export async function exportedSession(
  centre: Centre,
  sessionId: string,
  format: ExportFormat,
): Promise<{ id: string; content: AsyncIterable<string> }> {
  const remote = remoteSession(centre.machines, sessionId)
  const { id, projectRoot } = remote?.session ?? (await storedSession(centre, sessionId))
  const root =
    remote === undefined ? projectRoot : (centre.machines?.mirrorRoot(remote.machine) ?? projectRoot)
  return { id, content: exportSession(root, id, { format, home: centre.home, session: remote?.session }) }
}

/** A new session, on this machine if none is named. */
export async function createSession(
  { machines, host, projects }: Pick<Centre, 'machines' | 'host' | 'projects'>,
  {
    project,
    machine,
    ...options
  }: z.infer<typeof newSession> & { machine?: z.infer<typeof machineName> | undefined },
): Promise<StoredSession> {
  if (machine === undefined || machine === machines?.info().machine)
    return host.createSession(await projects.require(project), options)
  if (machines === undefined) throw callError('unsupported', 'This server is in no fleet.')
  return machines.create(machine, { project, ...options })
}

/** A session with its current state. */
export async function shownSession(centre: Centre, sessionId: string): Promise<StoredSession> {
  const remote = remoteSession(centre.machines, sessionId)
  if (centre.machines !== undefined && remote !== undefined) return shownRemote(centre.machines, remote)
  const session = await storedSession(centre, sessionId)
  return asItIsNow(centre, [session])[0] ?? session
}

/** Newest first, each with its current state; of all registered projects if none is named. */
export async function shownSessions(
  centre: Centre,
  { projectRoot, ...page }: PageOptions,
): Promise<SessionPage> {
  const { host, projects } = centre
  const of =
    projectRoot === undefined
      ? { projectRoots: (await projects.list()).map(({ root }) => root) }
      : { projectRoot: await projects.require(projectRoot) }
  const isWanted = ({ id }: StoredSession) => !centre.discarded.has(id)
  const found = await host.store.page({ ...page, ...of, isWanted })
  const own = { ...found, sessions: asItIsNow(centre, found.sessions) }
  return centre.machines === undefined || projectRoot !== undefined
    ? own
    : withRemote(centre.machines, own, page)
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
export async function pendingDecisions(centre: Centre, sessionId?: string): Promise<PendingDecision[]> {
  const { host, projects, machines } = centre
  const remote = sessionId === undefined ? undefined : remoteSession(machines, sessionId)
  if (remote !== undefined) return pendingThere(remote)
  if (sessionId !== undefined) await storedSession(centre, sessionId)
  const registered = new Set((await projects.list()).map(({ root }) => root))
  const shown = new Set(
    host
      .statuses()
      .filter(status => registered.has(status.projectRoot) && !centre.discarded.has(status.sessionId))
      .map(status => status.sessionId),
  )
  const own = host.decisions.pending(sessionId).filter(pending => shown.has(pending.sessionId))
  if (sessionId !== undefined) return own
  return [...own, ...remoteSessions(machines).flatMap(pendingThere)].sort(
    (a, b) => Date.parse(a.askedAt) - Date.parse(b.askedAt),
  )
}

/** The requests that a machine last told of. The time of asking is not told: the status changed then, or later. */
function pendingThere({ status }: RemoteSession): PendingDecision[] {
  const { sessionId, updatedAt: askedAt, pending, policyProblem } = status ?? NOTHING_PENDING
  return pending.map(request => ({
    sessionId,
    askedAt,
    request,
    ...(policyProblem === null ? {} : { policyProblem }),
  }))
}

const NOTHING_PENDING = { sessionId: '', updatedAt: '', pending: [], policyProblem: null }

/** A person's answer. For an unknown session the request is reported as unknown. */
export async function answerDecision(
  { host, projects }: Centre,
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
function asItIsNow({ host }: Centre, sessions: StoredSession[]): StoredSession[] {
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
export async function deleteSession(centre: Centre, sessionId: string): Promise<void> {
  await storedSession(centre, sessionId)
  await deleteForGood(centre, sessionId)
}

/** Also of a discarded session. One that is gone already is no error. */
export async function deleteForGood(centre: Centre, sessionId: string): Promise<void> {
  const session = await centre.host.store.get(sessionId)
  if (session === undefined) return
  await centre.projects.require(session.projectRoot)
  // It would come back on the other machine.
  centre.host.moves.requireStaying(sessionId)
  await centre.host.deleteSession(sessionId)
}

/** Stops the session's work and takes it out of every list; its files are deleted a minute later. */
export async function discardSession(centre: Centre, sessionId: string): Promise<void> {
  const session = await liveSession(centre, sessionId)
  centre.host.moves.requireStaying(sessionId)
  // A queued message must not start the next turn.
  await session.queue.hold()
  await session.kill()
  // A move may have begun meanwhile. From here on none does.
  centre.host.moves.requireStaying(sessionId)
  await centre.discarded.add(sessionId)
  centre.removed.tell(sessionId)
}

/** Brings a discarded session back, with all that it had. */
export async function restoreSession(centre: Centre, sessionId: string): Promise<void> {
  if (!(await centre.discarded.restore(sessionId)))
    throw callError('not-found', 'It cannot be restored any more: its files are deleted.')
  const { shelf } = await storedSession(centre, sessionId)
  // Every client hears of it.
  await centre.host.shelveSession(sessionId, shelf)
}
