import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { RemoteSession } from '@chirality/centre'
import { writeFileNow } from '@chirality/disk'
import type { SessionStatus, StoredSession } from '@chirality/sessions'
import { z } from 'zod'
import { fleetFolder } from './engine/fleet-files.ts'
import { fleetError } from './fleet-error.ts'
import { isSession } from './mirror/mirror.ts'

const told = z.object({
  session: z.looseObject({
    id: z.string(),
    projectRoot: z.string(),
    // Lists are sorted by this time.
    updatedAt: z.string().refine(time => Number.isFinite(Date.parse(time))),
  }),
  status: z.looseObject({ sessionId: z.string(), projectRoot: z.string(), phase: z.string() }).nullable(),
  /** The user deleted the session and can restore it for a minute. */
  discarded: z.literal(true).optional(),
  // An unknown value is dropped: the session itself counts.
  work: z.enum(['ends', 'all']).optional().catch(undefined),
})

/** Reported sessions of other machines. Stored in files too, so that a hub knows them while the broker is away. */
export class RemoteSessions {
  readonly #folder: string
  readonly #sessions = new Map<string, RemoteSession>()
  /** Number of sessions per machine. Machines are listed often, and counting sessions each time would be slow. */
  readonly #counts = new Map<string, number>()
  /** Sessions that were deleted and can still be restored. No list shows them. */
  readonly #discarded = new Set<string>()
  readonly #listeners = new Set<(sessionId: string) => void>()
  /** Owners of moved sessions: the only machines whose reports count. */
  readonly #owners = new Map<string, string>()
  /** Stream position of the last report of each session. Missing if an earlier process took it. */
  readonly #toldAt = new Map<string, number>()
  /** Reports from machines that are not the known owner of the session. */
  readonly #doubted = new Map<string, { machine: string; text: string }>()

  readonly #onFault: (error: unknown) => void

  constructor(folder: string, onFault: (error: unknown) => void = () => {}) {
    this.#folder = folder
    this.#onFault = onFault
    for (const machine of list(folder))
      for (const name of list(join(folder, machine, STATES)))
        this.#add(machine, name.replace(/\.json$/, ''), readText(join(folder, machine, STATES, name)))
  }

  list(): RemoteSession[] {
    return [...this.#sessions.values()].filter(({ session }) => !this.#discarded.has(session.id))
  }

  get(sessionId: string): RemoteSession | undefined {
    return this.#discarded.has(sessionId) ? undefined : this.#sessions.get(sessionId)
  }

  /** Throws if no machine has the session. */
  require(sessionId: string): RemoteSession {
    const found = this.get(sessionId)
    if (found !== undefined) return found
    throw fleetError('machine-away', `No machine of the fleet has the session ${sessionId}.`)
  }

  /** The machine that has a session, including one that can only be restored. */
  machineOf(sessionId: string): string | undefined {
    return this.#sessions.get(sessionId)?.machine
  }

  /** Machines that have sessions, each once. */
  machines(): string[] {
    return [...this.#counts.keys()]
  }

  onChange(listener: (sessionId: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Takes in a report. An empty text ends the session. If its machine cannot find it, the earlier report stays valid.
   */
  take(machine: string, sessionId: string, said: string, seq = 0): void {
    if (!isSession(sessionId)) return
    const known = this.#sessions.get(sessionId)
    if (said === MISSING && known?.machine !== machine) return
    const discarded = this.#discarded.has(sessionId) || undefined
    const text =
      said === MISSING ? JSON.stringify({ session: known?.session, status: null, discarded }) : said
    const folder = join(this.#folder, machine, STATES)
    const file = join(folder, `${sessionId}.json`)
    if (text === '') {
      if (this.#sessions.get(sessionId)?.machine === machine) {
        this.#sessions.delete(sessionId)
        this.#toldAt.delete(sessionId)
        this.#count(machine, -1)
        this.#discarded.delete(sessionId)
      }
      rmSync(file, { force: true })
    } else {
      const before = this.#sessions.get(sessionId)?.machine
      if (!this.#add(machine, sessionId, text)) return
      if (before !== undefined && before !== machine)
        rmSync(join(this.#folder, before, STATES, `${sessionId}.json`), { force: true })
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      writeFileNow(file, text, { survives: 'kill' })
      if (seq > 0) this.#toldAt.set(sessionId, seq)
    }
    this.tell(sessionId)
  }

  /**
   * Forgets the sessions of a machine that does not come back. Reports after message `upTo` come from a machine that
   * joined again, and stay.
   */
  forget(machine: string, upTo: number): string[] {
    const told = [...this.#sessions].filter(([id, one]) => {
      return one.machine === machine && (this.#toldAt.get(id) ?? 0) <= upTo
    })
    for (const [id] of told) this.take(machine, id, '')
    return told.map(([id]) => id)
  }

  /**
   * Records a session that a machine claims to have made for this hub. False if the claim is invalid: a machine answers
   * for its own sessions only.
   */
  made(machine: string, session: unknown, isOwn: boolean): boolean {
    const id = idIn(session)
    // The state may arrive before the answer.
    if (this.#sessions.get(id)?.machine === machine) return true
    if (isOwn || !isSession(id)) return false
    this.take(machine, id, JSON.stringify({ session, status: null }))
    return this.#sessions.get(id)?.machine === machine
  }

  /** Sets the owner of a session. Its withheld report counts from now on. */
  own(sessionId: string, machine: string): void {
    this.#owners.set(sessionId, machine)
    const doubted = this.#doubted.get(sessionId)
    if (doubted?.machine === machine && this.#sessions.get(sessionId)?.machine !== machine)
      this.take(machine, sessionId, doubted.text)
  }

  /**
   * Calls the listeners of a session after a change outside the report, such as its machine's state. A listener that
   * fails stops neither the others nor the reading of reports.
   */
  tell(sessionId: string): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(sessionId)
      } catch (error) {
        this.#onFault(error)
      }
    }
  }

  /** Stores a report. False if it is malformed, or another machine has a session of this id, which then keeps it. */
  #add(machine: string, sessionId: string, text: string): boolean {
    const parsed = parse(text)
    if (parsed === undefined || parsed.session.id !== sessionId) return false
    const known = this.#sessions.get(sessionId)
    const owner = this.#owners.get(sessionId)
    if (known !== undefined && known.machine !== machine && owner !== machine) {
      if (this.#doubted.size < MAX_DOUBTED) this.#doubted.set(sessionId, { machine, text })
      return false
    }
    // The old machine is back and does not know yet that the session was given away.
    if (owner !== undefined && owner !== machine && known === undefined) return false
    const { session, status, work, discarded } = parsed
    if (known !== undefined) this.#count(known.machine, -1)
    this.#count(machine, 1)
    this.#sessions.set(sessionId, { machine, session, status, work })
    if (discarded) this.#discarded.add(sessionId)
    else this.#discarded.delete(sessionId)
    this.#doubted.delete(sessionId)
    return true
  }

  #count(machine: string, more: number): void {
    const count = (this.#counts.get(machine) ?? 0) + more
    if (count === 0) this.#counts.delete(machine)
    else this.#counts.set(machine, count)
  }
}

/** The last reported sessions of other machines, from this hub's files. They may have been moved since. */
export function storedRemoteSessions(home: string): RemoteSession[] {
  return new RemoteSessions(mirrorsFolder(home)).list()
}

export function mirrorsFolder(home: string): string {
  return join(fleetFolder(home), 'mirrors')
}

export function idIn(session: unknown): string {
  const { id } = (session ?? {}) as { id?: unknown }
  return typeof id === 'string' ? id : ''
}

/** Report of a machine about a session that it cannot find and that nobody removed: it does not run. */
export const MISSING = '{"missing":true}'

const STATES = 'states'
const MAX_DOUBTED = 1_000

type Told = Pick<RemoteSession, 'session' | 'status' | 'work'> & { discarded: boolean }

function parse(text: string): Told | undefined {
  try {
    const { session, status, work, discarded = false } = told.parse(JSON.parse(text))
    for (const one of [session, status]) notAhead(one)
    if (status !== null && status.sessionId !== session.id) return undefined
    return {
      session: session as unknown as StoredSession,
      status: status as unknown as SessionStatus | null,
      work,
      discarded,
    }
  } catch {
    return undefined
  }
}

/** Limits a report's time to now. A clock that is ahead would keep the session on top of every list until then. */
function notAhead(told: Record<string, unknown> | null): void {
  const now = new Date()
  if (told !== null && Date.parse(String(told.updatedAt)) > now.getTime()) told.updatedAt = now.toISOString()
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
