import type { FleetLocal, FleetService, RemoteCall, RemoteSession } from '@chirality/centre'
import type { SessionLog, SpentElsewhere, StoredSession } from '@chirality/sessions'
import { certificateFingerprint } from './engine/certificate.ts'
import { inWords } from './engine/fault-words.ts'
import { fleetFolder, type Member } from './engine/fleet-files.ts'
import { FleetConnection } from './fleet-connection.ts'
import { fleetError } from './fleet-error.ts'
import type { FleetMemberOptions } from './fleet-member-options.ts'
import { type Machine, Machines } from './machines.ts'
import { Membership } from './membership.ts'
import { Mirror } from './mirror/mirror.ts'
import { Carrier } from './move/carrier.ts'
import type { KeptSession, Moved } from './move/moves.ts'
import type { TakenOver } from './move/takeovers.ts'
import { OwnSessions } from './own-sessions.ts'
import { choose } from './placement/place.ts'
import { idIn, mirrorsFolder, RemoteSessions } from './remote-sessions.ts'
import { type Forgotten, requireGone } from './removals.ts'
import { callMachine, fetchBytes } from './rpc/calls.ts'
import { FleetSpending } from './spending.ts'
import type { Role } from './subjects.ts'
import { ThisMachine } from './this-machine.ts'
import { AwayTurns } from './work/away-turns.ts'

/** This machine in its fleet. The broker may be away at any time: agents, logs and the local dashboard keep working. */
export class FleetMember implements FleetService {
  readonly machine: string
  /** Turns of this machine's sessions that other machines run. */
  readonly turns: AwayTurns
  readonly #membership: Membership
  readonly #thisMachine: ThisMachine
  readonly #machines: Machines
  readonly #remote: RemoteSessions
  readonly #mirror: Mirror
  readonly #spending: FleetSpending
  readonly #carrier: Carrier
  readonly #connection: FleetConnection

  private constructor(membership: Membership, given: FleetMemberOptions) {
    const onFault = (error: unknown) => given.onFault?.(inWords(error))
    const options = { ...given, onFault }
    const { home, onNews, noCopies } = options
    const { machine, role } = membership.member
    const folder = mirrorsFolder(home)
    const link = () => this.#connection.link
    const thisMachine = new ThisMachine(options)
    const machines = new Machines(machine)
    const remote = new RemoteSessions(folder, onFault)
    const mirror = new Mirror({
      folder,
      fetch: (from, session, at) => fetchBytes(link(), from, { session, from: at }),
    })
    this.machine = machine
    this.#membership = membership
    this.#thisMachine = thisMachine
    this.#machines = machines
    this.#remote = remote
    this.#mirror = mirror
    this.#spending = new FleetSpending(home, machine)
    this.#carrier = new Carrier({
      home,
      machine,
      role,
      remote,
      link,
      machines: () => this.machines(),
      logs: mirror,
      log: id => this.log(id),
      own: id => thisMachine.session(id),
      onFault,
      onNews,
      noCopies,
      onForgotten: (forgotten, state) => machines.forget(forgotten, state),
    })
    this.turns = new AwayTurns({
      home,
      own: machine,
      link,
      remote,
      machines: () => machines.forWork(machines.list()),
      has: id => thisMachine.has(id),
      isLeaving: id => thisMachine.isLeaving(id),
      move: (id, to) => this.#carrier.move(id, to),
      onFault,
    })
    const parts = { membership, thisMachine, machines, remote, mirror, turns: this.turns }
    this.#connection = new FleetConnection(
      {
        ...parts,
        own: new OwnSessions(machine, fleetFolder(home)),
        listed: () => this.machines(),
        spending: this.#spending,
        carrier: this.#carrier,
      },
      options,
    )
  }

  /** Reads what `fleet init` or `fleet join` wrote, and starts the broker if it belongs to this machine. */
  static async open(options: FleetMemberOptions): Promise<FleetMember> {
    const membership = await Membership.open(options)
    try {
      return new FleetMember(membership, options)
    } catch (error) {
      await membership.close()
      throw error
    }
  }

  get role(): Member['role'] {
    return this.#membership.member.role
  }

  get connected(): boolean {
    return this.#connection.link?.connected ?? false
  }

  /** Connects in the background: the server starts although the broker is away. */
  start(local: FleetLocal): void {
    this.#thisMachine.start(local)
    this.#connection.start(local)
  }

  machines(): Machine[] {
    const named = [this.machine, ...this.#remote.machines()]
    return this.#machines.list({ named, keys: this.#membership.keys })
  }

  readonly stateOf = (machine: string) => this.#machines.state(machine)

  info() {
    const { member, letsIn } = this.#membership
    const { machine, role, url, cert } = member
    const { sends, isFixed } = this.#carrier.copyChoice
    const { connected } = this
    return {
      machine,
      role,
      url,
      connected,
      readOnly: this.#connection.link?.fault ?? null,
      hasBroker: letsIn,
      problem: connected ? null : this.#machines.problem,
      fingerprint: certificateFingerprint(cert),
      copies: { sends, isFixed },
    }
  }

  /** Makes a code with which one machine can join. Works only where the broker is. */
  readonly invite = (role: Role) => this.#membership.invite(role)

  readonly revoke = (machine: string): Promise<void> => this.#membership.revoke(machine)

  /** Forgets a machine that does not come back: its sessions, their logs and copies are removed from the brokers and all hubs. */
  async forget(machine: string): Promise<Forgotten> {
    await this.#membership.readKeys()
    const { hasKey } = requireGone(this.machines(), machine, this.#membership.letsIn)
    if (hasKey) await this.revoke(machine)
    return { machine, sessions: await this.#carrier.forget(machine) }
  }

  /** Chooses the machine for a new session, and says for each machine why it fits or not. */
  readonly choose = (work: Parameters<typeof choose>[0]) =>
    choose(work, this.#machines.forWork(this.machines(), this.#thisMachine.busy))

  /** Makes a session on another machine. */
  async create(machine: string, input: object): Promise<StoredSession> {
    const made = await this.call(machine, { path: 'sessions.create', input })
    this.#machines.placed(machine)
    return this.made(machine, made)
  }

  /** Records a session that another machine made for this hub, so that it is listed at once. */
  async made(machine: string, session: unknown): Promise<StoredSession> {
    const isOwn = await this.#thisMachine.has(idIn(session))
    if (this.#remote.made(machine, session, isOwn)) return session as StoredSession
    throw fleetError('machine-silent', `The machine ${machine} answered nonsense. Look there.`)
  }

  /** Spending of other machines on a project, by the project's common name. Available before `start`. */
  spentElsewhere(key: string): SpentElsewhere[] {
    return this.#spending.elsewhere(key)
  }

  /** The sessions of the other machines. */
  sessions(): RemoteSession[] {
    return this.#remote.list()
  }

  session(sessionId: string): RemoteSession | undefined {
    return this.#remote.get(sessionId)
  }

  readonly machineOf = (sessionId: string) => this.#remote.machineOf(sessionId)

  onChange(listener: (sessionId: string) => void): () => void {
    return this.#remote.onChange(listener)
  }

  /** Opens the mirrored log of a session of another machine. The caller closes it. */
  async log(sessionId: string): Promise<SessionLog> {
    return this.#mirror.log(this.#remote.require(sessionId).machine, sessionId)
  }

  /** The folder with the mirrored logs of a machine, for readers of files. */
  mirrorRoot(machine: string): string {
    return this.#mirror.root(machine)
  }

  /** Calls another machine once, without a retry. */
  call(machine: string, call: RemoteCall): Promise<unknown> {
    return callMachine(this.#connection.link, machine, call)
  }

  readonly move = (sessionId: string, to: string): Promise<Moved> => this.#carrier.move(sessionId, to)
  readonly takeover = (sessionId: string, to: string, goOn?: boolean): Promise<TakenOver> =>
    this.#carrier.takeover(sessionId, to, { goOn })
  readonly sendCopies = (send: boolean): Promise<void> => this.#carrier.copyChoice.choose(send)
  readonly keep = (sessionId: string): Promise<KeptSession> => this.#carrier.keep(sessionId)

  /** Ships the rest of the logs if the broker is there; the remainder is shipped after the next start. */
  close(): Promise<void> {
    return this.#connection.close()
  }
}
