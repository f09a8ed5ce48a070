import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Link } from './engine/link.ts'
import { SavedText } from './engine/saved-text.ts'
import { fleetError } from './fleet-error.ts'
import type { Machine } from './machines.ts'
import type { Mirror } from './mirror/mirror.ts'
import type { Copies } from './move/copies.ts'
import { ownersOf } from './move/moves.ts'
import type { RemoteSessions } from './remote-sessions.ts'
import { parseSubject, subjects } from './subjects.ts'

export interface RemovalsOptions {
  own: string
  /** Folder of the fleet in the user's data folder. */
  folder: string
  link: () => Link | undefined
  remote: RemoteSessions
  logs: Pick<Mirror, 'delete' | 'drop' | 'sessions'>
  copies: Pick<Copies, 'forget'>
  /** True if any machine has the session. */
  isElsewhere: (sessionId: string) => Promise<boolean>
  /** Beats of the machine up to this message no longer count. */
  onForgotten: (machine: string, state: number) => void
  onFault?: ((error: unknown) => void) | undefined
}

/**
 * Record of a forgotten machine with the stream positions at that time: later messages come from a machine that joined
 * again.
 */
const record = z.object({ state: z.number().int().min(0), events: z.number().int().min(0) })
type Last = z.infer<typeof record>
const doneFile = z.record(z.string(), z.number())

/**
 * Permanent removals on a hub: logs of deleted sessions at the brokers, and everything known of a machine that is gone.
 */
export class Removals {
  readonly #options: RemovalsOptions
  /** Log subjects of ended sessions, including old ones: every start of a hub hears of them again. */
  readonly #ended = new Map<string, string>()
  /** Per machine, the last record that was fully processed here. */
  readonly #done: Map<string, number>
  readonly #saved: SavedText
  #running: Promise<void> | undefined
  #nextTry = 0
  #problem = ''

  constructor(options: RemovalsOptions) {
    this.#options = options
    const file = join(options.folder, 'forgotten.json')
    this.#done = new Map(Object.entries(readDone(file)))
    this.#saved = new SavedText(file, () => JSON.stringify(Object.fromEntries(this.#done)))
  }

  /** Notes that a machine no longer has a session. If no other has it, its log is purged from the brokers. */
  ended(machine: string, session: string): void {
    this.#ended.set(subjects.events(machine, session), session)
  }

  /** Runs due removals in the background. Called repeatedly. */
  finishSoon(): void {
    if (this.#ended.size === 0 || this.#running !== undefined || performance.now() < this.#nextTry) return
    void this.finish().catch((error: unknown) => {
      this.#nextTry = performance.now() + AGAIN_MS
      const problem = error instanceof Error ? error.message : String(error)
      // A missing broker is reported elsewhere.
      if (this.#options.link()?.fault === undefined && problem !== this.#problem)
        this.#options.onFault?.(error)
      this.#problem = problem
    })
  }

  finish(): Promise<void> {
    this.#running ??= this.#purge().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #purge(): Promise<void> {
    const link = this.#options.link()
    if (link === undefined || !link.connected) return
    const ended = new Map(this.#ended)
    const stored = new Set(await link.subjectsOf('events'))
    for (const [subject, session] of ended) {
      if (stored.has(subject) && (await this.#isGone(link, { subject, session, ended })))
        await link.purge('events', subject)
      this.#ended.delete(subject)
    }
  }

  /** False for a session that was moved or taken over, even if its new machine has not reported it yet. */
  async #isGone(
    link: Link,
    { subject, session, ended }: { subject: string; session: string; ended: ReadonlyMap<string, string> },
  ): Promise<boolean> {
    if (await this.#options.isElsewhere(session)) return false
    const owner = await ownersOf(link).read(session)
    if (owner === undefined || owner.machine === parseSubject(subject)?.machine) return true
    // The new owner deleted the session.
    return ended.has(subjects.events(owner.machine, session))
  }

  /**
   * Removes all that brokers and hubs have of a machine whose key was revoked. Resolves with the number of its
   * sessions.
   */
  async forget(machine: string): Promise<number> {
    const link = this.#options.link()
    if (link === undefined) throw fleetError('machine-away', 'This machine is not connected to its fleet.')
    const subject = subjects.forgotten(machine)
    const { seq: after = 0 } = (await link.last('owners', subject)) ?? {}
    const last: Last = { state: await link.lastSeq('state'), events: await link.lastSeq('events') }
    const sessions = this.#options.remote.list().filter(one => one.machine === machine).length
    // Recorded first: a hub that is away now learns of it even if this one is killed.
    const told = await link.publish(subject, Buffer.from(JSON.stringify(last)), { after })
    await link.purge('events', subjects.events(machine, '*'), last.events)
    await link.purge('state', subjects.all(machine), last.state)
    if (told.kind === 'stored') await this.#remove(machine, told.seq, last)
    return sessions
  }

  /** Processes a record of a forgotten machine, once, even if it was written while this hub was away. */
  async heard(machine: string, seq: number, body: Uint8Array): Promise<void> {
    const said = record.safeParse(parsed(body))
    if (said.success && this.#done.get(machine) !== seq) await this.#remove(machine, seq, said.data)
  }

  async #remove(machine: string, seq: number, last: Last): Promise<void> {
    const { own, remote, logs, copies, folder } = this.#options
    if (machine === own) return
    const forgotten = remote.forget(machine, last.state)
    const stays = new Set(remote.list().flatMap(one => (one.machine === machine ? [one.session.id] : [])))
    const old = new Set(logs.sessions(machine, last.events).filter(id => !stays.has(id)))
    for (const session of old) await logs.delete(machine, session)
    const copied = await readdir(join(folder, 'copies', machine)).catch(() => [])
    for (const session of new Set([...forgotten, ...copied.map(name => name.replace(/\..*$/, ''))]))
      if (!(await this.#options.isElsewhere(session))) await copies.forget(session)
    if (stays.size === 0 && logs.sessions(machine, Number.POSITIVE_INFINITY).length === 0) logs.drop(machine)
    this.#options.onForgotten(machine, last.state)
    this.#done.set(machine, seq)
    await this.#saved.save()
  }
}

const AGAIN_MS = 30_000

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString())
  } catch {
    return undefined
  }
}

/** A damaged file counts as empty: later reports of machines stay in any case. */
function readDone(file: string): Record<string, number> {
  try {
    return doneFile.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return {}
  }
}

export interface Forgotten {
  machine: string
  /** Number of its sessions that this hub knew. */
  sessions: number
}

/**
 * Finds the machine and checks that it may be forgotten: a machine that can still report its sessions would reappear at
 * once.
 */
export function requireGone(machines: readonly Machine[], name: string, letsIn: boolean): Machine {
  if (!letsIn) throw notForgotten('Machines are forgotten on the hub that made the fleet. Ask on that hub.')
  const found = machines.find(({ machine }) => machine === name)
  if (found === undefined) throw notForgotten(`No machine of the fleet is called ${name}.`)
  if (found.isThis) throw notForgotten('This machine lets the others in: it cannot be forgotten.')
  if (found.hasKey && found.state !== 'away')
    throw notForgotten(
      `The machine ${name} ${found.state === 'here' ? 'is there' : 'may be there'}. Move its sessions, then take its rights away: chirality fleet revoke ${name}`,
    )
  return found
}

function notForgotten(message: string): Error {
  return fleetError('fleet-refused', message)
}
