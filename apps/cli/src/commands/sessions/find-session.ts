import { SessionStore, StorageError, type StoredSession } from '@chirality/sessions'
import { UsageError } from '../../usage-error.ts'

/** The session that is meant by an id, by the beginning of one, or by the id that its agent has for it. */
export async function findSession(given: string, store = new SessionStore()): Promise<StoredSession> {
  const id = given.toLowerCase()
  const exact = isPlain(given) ? await store.get(given) : undefined
  if (exact !== undefined) return exact
  const known = await allSessions(store)
  const found =
    firstThatHas(known, session => session.id.startsWith(id)) ??
    firstThatHas(known, session => session.claudeSessionId?.startsWith(id) === true)
  const [only, ...more] = found ?? []
  if (only === undefined) {
    const message = `There is no session ${JSON.stringify(given)}. See \`chirality sessions list --all\`.`
    throw new StorageError('not-found', '', message)
  }
  if (more.length === 0) return only
  const names = [only, ...more].slice(0, MAX_NAMED).map(session => session.id)
  throw new UsageError(`"${given}" is the beginning of ${1 + more.length} ids: ${names.join(', ')}.`)
}

const MAX_NAMED = 5

/** Also those of this folder, in case it is not known yet: it may have come from another machine. */
async function allSessions(store: SessionStore): Promise<StoredSession[]> {
  const here = await store.list('.').catch(() => [])
  const everywhere = await store.list()
  return [...new Map([...here, ...everywhere].map(session => [session.id, session])).values()]
}

function firstThatHas(
  sessions: StoredSession[],
  matches: (session: StoredSession) => boolean,
): StoredSession[] | undefined {
  const found = sessions.filter(matches)
  return found.length === 0 ? undefined : found
}

/** What cannot be the name of a file is no id of ours, and asking for it would be an error. */
function isPlain(id: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(id)
}
