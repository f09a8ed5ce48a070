import path from 'node:path'
import { canGoOn, GO_ON } from '@chirality/core'
import { SessionStore, StorageError, type StoredSession } from '@chirality/sessions'
import { UsageError } from '../../exit-code.ts'
import { plain } from '../../render/style.ts'

/** The session with an id, with the beginning of an id, or with its agent's own id. */
export async function findSession(given: string, store = new SessionStore()): Promise<StoredSession> {
  return (await exactSession(given, store)) ?? sessionNamed(given, await allSessions(store))
}

export async function exactSession(given: string, store: SessionStore): Promise<StoredSession | undefined> {
  return isPlain(given) ? store.get(given) : undefined
}

/** The only one of these sessions that is meant. */
export function sessionNamed(given: string, known: StoredSession[]): StoredSession {
  const id = given.toLowerCase()
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

/** Also searches the current folder, which may be unregistered: it may come from another machine. */
export async function allSessions(store: SessionStore): Promise<StoredSession[]> {
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

/** A text that cannot be a file name is no session id, and looking it up would be an error. */
function isPlain(id: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(id)
}

/**
 * The command that continues a session: in the current folder, or with the folder it belongs to; on a hub also one of
 * another machine. With the message, where the last turn was cut off.
 */
export function continueCommand({ id, projectRoot, lastTurn }: StoredSession, machine?: string): string {
  const isHere = machine !== undefined || path.resolve('.') === projectRoot
  const place = isHere ? '' : ` --project ${quoted(projectRoot)}`
  return `chirality run --session ${id}${place} "${canGoOn(lastTurn) ? GO_ON : '…'}"`
}

function quoted(word: string): string {
  if (/^[\w./-]+$/.test(word)) return word
  // Printed unescaped, such a name would control the terminal.
  if (plain(word) !== word || /[\n\t]/.test(word)) return `$'${word.replace(ODD, escaped)}'`
  return `'${word.replaceAll("'", "'\\''")}'`
}

const ODD = /[^\x20-\x7e]|['\\]/gu

function escaped(character: string): string {
  const bytes = [...Buffer.from(character)]
  return bytes.map(byte => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
}
