import { join } from 'node:path'
import type { FleetLocal } from '@chirality/centre'
import type { SessionLog, StoredSession } from '@chirality/sessions'
import { parseSessionOwner, Refusals } from '../claim/owners.ts'
import { fleetFolder } from '../engine/fleet-files.ts'
import type { Follower } from '../engine/follower.ts'
import type { Link } from '../engine/link.ts'
import { fleetError } from '../fleet-error.ts'
import type { Machine } from '../machines.ts'
import type { Mirror } from '../mirror/mirror.ts'
import type { RemoteSessions } from '../remote-sessions.ts'
import { Removals } from '../removals.ts'
import { forgottenIn } from '../subjects.ts'
import { Copies } from './copies.ts'
import { CopyChoice } from './copy-choice.ts'
import { MoveDesk } from './move-desk.ts'
import { type KeptSession, type Moved, Moves, ownersOf } from './moves.ts'
import { type TakenOver, Takeovers } from './takeovers.ts'

export interface CarrierOptions {
  home: string
  machine: string
  role: Machine['role']
  link: () => Link | undefined
  machines: () => Machine[]
  remote: RemoteSessions
  /** Sends no copies in this run, whatever the machine's settings say. */
  noCopies?: boolean | undefined
  logs: Pick<Mirror, 'delete' | 'machinesWith' | 'drop' | 'sessions'>
  /** The mirrored log of a session of another machine. */
  log: (sessionId: string) => Promise<SessionLog>
  /** A session of this machine. */
  own: (sessionId: string) => Promise<StoredSession | undefined>
  /** Called when a machine was forgotten: its beats up to this message no longer count. */
  onForgotten?: ((machine: string, state: number) => void) | undefined
  onFault?: ((error: unknown) => void) | undefined
  onNews?: ((text: string) => void) | undefined
}

/** Moves, takeovers, copies and removals of sessions on one machine. Only a hub starts one; every machine answers. */
export class Carrier {
  readonly #options: CarrierOptions
  readonly #moves: Moves
  readonly #copies: Copies
  readonly #takeovers: Takeovers
  /** The user's choice whether hubs get copies of this machine's sessions. */
  readonly copyChoice: CopyChoice
  readonly #refusals: Refusals
  readonly #removals: Removals

  constructor(options: CarrierOptions) {
    this.#options = options
    const { link, machines, remote, log, onFault } = options
    const folder = (name: string) => join(fleetFolder(options.home), name)
    this.#refusals = new Refusals(options.machine)
    this.copyChoice = new CopyChoice(folder('copies.json'), options.noCopies === true)
    const running = new Set<string>()
    this.#moves = new Moves({ folder: folder('moves'), link, machines, running })
    this.#copies = new Copies({
      folder: folder('copies'),
      link,
      machines,
      onFault,
      sessions: () => remote.list(),
    })
    this.#takeovers = new Takeovers({
      folder: folder('takeovers'),
      link,
      machines,
      log,
      running,
      copies: this.#copies,
      session: id => remote.get(id),
    })
    this.#removals = new Removals({
      own: options.machine,
      folder: fleetFolder(options.home),
      link,
      remote,
      logs: options.logs,
      copies: this.#copies,
      isElsewhere: id => this.#isElsewhere(id),
      onFault,
      onForgotten: (machine, state) => options.onForgotten?.(machine, state),
    })
  }

  /** Moves a session of any machine to one that has a clone of its repository. */
  async move(sessionId: string, to: string): Promise<Moved> {
    return this.#moves.move(sessionId, await this.#owner(sessionId), to)
  }

  /** Lets another machine continue a session whose machine is gone. */
  async takeover(sessionId: string, to: string, options: { goOn?: boolean | undefined }): Promise<TakenOver> {
    this.#requireHub()
    const taken = await this.#takeovers.takeover(sessionId, to, options)
    this.#options.remote.own(sessionId, taken.to)
    return taken
  }

  /** Gives up a move whose target does not come back. */
  async keep(sessionId: string): Promise<KeptSession> {
    return this.#moves.keep(
      sessionId,
      await this.#owner(sessionId),
      async ({ machine: to, gaveUp: from }) => {
        const session = (await this.#options.own(sessionId)) ?? this.#options.remote.get(sessionId)?.session
        // The target's own events and costs are counted from the start of the move.
        const { lastSeq: seq = 0, costUsd, tokens = 0 } = session ?? {}
        await this.#takeovers.expect(sessionId, { from, to, taken: { seq, usd: costUsd ?? 0, tokens } })
      },
    )
  }

  /** Answers the steps of moves that hubs ask for. */
  desk(local: FleetLocal, tell: (sessionId: string) => Promise<void>): MoveDesk {
    const { home, machine, remote, own } = this.#options
    return new MoveDesk({
      folder: join(fleetFolder(home), 'parcels'),
      host: local.host,
      machine,
      onLeft: local.left,
      sendsCopies: () => this.copyChoice.sends,
      owner: session => ownersOf(this.#options.link()).read(session),
      tell: async session => {
        const before = remote.get(session)
        // The session is here now, whatever the machine that had it says.
        if (before && (await own(session)) !== undefined) remote.take(before.machine, session, '')
        await tell(session)
      },
    })
  }

  /** Follows the owners of sessions, on a hub. */
  follow(link: Link): Follower {
    return link.follow('owners', 'last-of-each', async ({ subject, seq, body }) => {
      const forgotten = forgottenIn(subject)
      if (forgotten !== undefined) return this.#removals.heard(forgotten, seq, body)
      const owner = parseSessionOwner(body)
      const session = subject.split('.')[2]
      if (owner !== undefined && session !== undefined) this.#options.remote.own(session, owner.machine)
    })
  }

  /**
   * Handles the end of a session at a machine, on a hub. If no other machine was given it, it was deleted: its copies
   * and its mirrored log are removed.
   */
  async ended(machine: string, session: string): Promise<void> {
    const { link, logs } = this.#options
    if (await this.#isElsewhere(session)) return
    this.#removals.ended(machine, session)
    const mirrored = logs.machinesWith(session)
    // Every start of this hub delivers this again, so the broker is asked only if there is something to delete.
    if (mirrored.length === 0 && !(await this.#copies.has(machine, session)))
      return logs.delete(machine, session)
    const owner = await ownersOf(link()).read(session)
    if ((owner !== undefined && owner.machine !== machine) || (await this.#isElsewhere(session))) return
    await this.#copies.forget(session)
    // A session that was given away also has logs of its earlier machines.
    for (const one of owner === undefined ? [machine] : [machine, ...mirrored])
      await logs.delete(one, session)
  }

  /** True if any machine has the session, or can restore it. */
  async #isElsewhere(session: string): Promise<boolean> {
    const { remote, own } = this.#options
    return remote.machineOf(session) !== undefined || (await own(session)) !== undefined
  }

  /** Removes all that the fleet has of a machine whose key was revoked, since it does not come back. */
  readonly forget = (machine: string): Promise<number> => this.#removals.forget(machine)

  /** Called when the connection is lost or made: other machines may have taken sessions over meanwhile. */
  connected(): void {
    this.#refusals.forget()
  }

  /** Refuses sessions that another machine took over. Called with each beat, once this machine answers calls. */
  async check({ host }: FleetLocal): Promise<void> {
    for (const id of await this.#refusals.look(host, () => ownersOf(this.#options.link())))
      this.#options.onNews?.(`Another machine took the session ${id} over. Its agent here was stopped.`)
  }

  /** Finishes started operations and fetches copies. Called repeatedly on a hub. */
  goOn(): void {
    this.#moves.finishSoon()
    this.#takeovers.finishSoon()
    this.#removals.finishSoon()
    void this.#copies.soon()
  }

  async #owner(sessionId: string): Promise<string> {
    this.#requireHub()
    if ((await this.#options.own(sessionId)) !== undefined) return this.#options.machine
    return this.#options.remote.require(sessionId).machine
  }

  #requireHub(): void {
    if (this.#options.role !== 'hub')
      throw fleetError('fleet-refused', 'Sessions are moved by a hub. Ask on the hub.')
  }
}
