import { SessionStore, type StoredSession } from '@chirality/sessions'
import { mirrorRoot, sessionsOfFleet } from '../../fleet-sessions.ts'
import { allSessions, exactSession, sessionNamed } from './find-session.ts'

export interface FoundSession {
  session: StoredSession
  /** The machine that has it; undefined for this one. */
  machine: string | undefined
  /** The folder with its log: its project, or what is mirrored of its machine. */
  logRoot: string
}

/** As `findSession`; on a hub also a session of another machine, whose log is mirrored here. */
export async function findAnywhere(given: string): Promise<FoundSession> {
  const store = new SessionStore()
  const exact = await exactSession(given, store)
  if (exact !== undefined) return ofHere(exact)
  const own = await allSessions(store)
  const ids = new Set(own.map(({ id }) => id))
  const others = (await sessionsOfFleet()).filter(({ session }) => !ids.has(session.id))
  const session = sessionNamed(given, [...own, ...others.map(other => other.session)])
  const machine = others.find(other => other.session === session)?.machine
  return machine === undefined ? ofHere(session) : { session, machine, logRoot: await mirrorRoot(machine) }
}

function ofHere(session: StoredSession): FoundSession {
  return { session, machine: undefined, logRoot: session.projectRoot }
}

/** For programs: as the server tells it. */
export function withMachine(session: StoredSession, machine: string | undefined): object {
  return machine === undefined ? session : { ...session, machine: { name: machine } }
}
