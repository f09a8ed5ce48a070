import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProjectLock, SessionLog, SpentElsewhere, StoredSession } from '@chirality/sessions'
import { BEAT_MS } from './claim/presence.ts'
import { invite, letIn, revoke } from './engine/broker.ts'
import type { RunningBroker } from './engine/broker-process.ts'
import { certificateFingerprint } from './engine/certificate.ts'
import { inWords } from './engine/fault-words.ts'
import {
  fleetFolder,
  lockMember,
  type Member,
  notSetUp,
  readBroker,
  serversOf,
} from './engine/fleet-files.ts'
import { type Link, openLink } from './engine/link.ts'
import { currentMember, startOwnBroker } from './engine/own-broker.ts'
import { fleetError } from './fleet-error.ts'
import type { FleetMemberOptions } from './fleet-member-options.ts'
import { type Forgotten, requireGone } from './forget-machine.ts'
import { HeardStates } from './heard-states.ts'
import { HubStreams } from './hub-streams.ts'
import {
  type Beat,
  beatOf,
  busyIn,
  type Keys,
  type LocalMachine,
  type Machine,
  Machines,
} from './machines.ts'
import { Mirror } from './mirror/mirror.ts'
import { Carrier } from './move/carrier.ts'
import type { Kept, Moved } from './move/moves.ts'
import type { TakenOver } from './move/takeovers.ts'
import { OwnSessions } from './own-sessions.ts'
import { choose } from './placement/place.ts'
import { idIn, mirrorsFolder, type RemoteSession, RemoteSessions } from './remote-sessions.ts'
import { answerCalls, callMachine, fetchBytes, type RemoteCall, tellSpending } from './rpc/calls.ts'
import { bytesOf, Shipper } from './ship/shipper.ts'
import { FleetSpending } from './spending.ts'
import { summedSpending } from './spent-list.ts'
import { parseSubject, type Role } from './subjects.ts'
import { AwayTurns } from './work/away-turns.ts'

/** This machine in its fleet. The broker may be away at any time: agents, logs and the local dashboard keep working. */
export class FleetMember {
  readonly machine: string
  /** Turns of this machine's sessions that other machines run. */
  readonly turns: AwayTurns
  readonly #member: Member
  readonly #options: FleetMemberOptions
  readonly #lock: ProjectLock
  readonly #broker: RunningBroker | undefined
  /** True if machines are invited and revoked here. */
  readonly #letsIn: boolean
  readonly #machines: Machines
  readonly #remote: RemoteSessions
  readonly #mirror: Mirror
  readonly #carrier: Carrier
  readonly #stop = new AbortController()
  readonly #cleanups: (() => unknown)[] = []
  readonly #own: OwnSessions
  readonly #spending: FleetSpending
  #local: LocalMachine | undefined
  #shipper: Shipper | undefined
  #agents: Beat['agents'] = []
  #repositories: Beat['repositories'] = []
  #spent: Beat['spent'] = []
  /** Undefined if the broker is on another machine. */
  #keys: Keys | undefined
  #link: Link | undefined
  #streams: HubStreams | undefined
  #running: Promise<void> = Promise.resolve()

  private constructor(
    member: Member,
    options: FleetMemberOptions,
    { lock, broker, letsIn }: { lock: ProjectLock; broker: RunningBroker | undefined; letsIn: boolean },
  ) {
    this.#letsIn = letsIn
    this.#member = member
    this.#options = { ...options, onFault: error => options.onFault?.(inWords(error)) }
    this.#lock = lock
    this.#broker = broker
    this.machine = member.machine
    this.#machines = new Machines(member.machine)
    this.#own = new OwnSessions(member.machine, fleetFolder(options.home))
    this.#spending = new FleetSpending(options.home, member.machine)
    const folder = mirrorsFolder(options.home)
    this.#remote = new RemoteSessions(folder, this.#options.onFault)
    const fetch = (machine: string, session: string, from: number) =>
      fetchBytes(this.#link, machine, { session, from })
    this.#mirror = new Mirror({ folder, fetch })
    this.#carrier = new Carrier({
      home: options.home,
      machine: member.machine,
      role: member.role,
      remote: this.#remote,
      link: () => this.#link,
      machines: () => this.machines(),
      logs: this.#mirror,
      log: id => this.log(id),
      own: async id => this.#local?.host.store.get(id).catch(() => undefined),
      onFault: this.#options.onFault,
      onNews: options.onNews,
      noCopies: options.noCopies,
      onForgotten: (machine, state) => this.#machines.forget(machine, state),
    })
    this.turns = new AwayTurns({
      home: options.home,
      own: member.machine,
      link: () => this.#link,
      remote: this.#remote,
      machines: () => this.#machines.forWork(this.#machines.list()),
      has: id => this.#has(id),
      isLeaving: id => this.#local?.host.moves.leaving(id) !== undefined,
      move: (id, to) => this.#carrier.move(id, to),
      onFault: this.#options.onFault,
    })
  }

  /** Reads what `fleet init` or `fleet join` wrote, and starts the broker if it belongs to this machine. */
  static async open(options: FleetMemberOptions): Promise<FleetMember> {
    const { home, url } = options
    const member = await currentMember(home)
    if (member === undefined) throw notSetUp()
    if (url !== undefined && !serversOf(url).every(one => serversOf(member.url).includes(one)))
      throw fleetError('fleet-refused', `This machine joined ${member.url}, not ${url}.`)
    const lock = await lockMember(home, member.machine)
    try {
      return new FleetMember(member, options, { lock, ...(await startOwnBroker(home, options.onNews)) })
    } catch (error) {
      await lock.release()
      throw error
    }
  }

  get role(): Member['role'] {
    return this.#member.role
  }

  get connected(): boolean {
    return this.#link?.connected ?? false
  }

  /** Connects in the background: the server starts although the broker is away. */
  start(local: LocalMachine): void {
    this.#local = local
    this.#cleanups.push(
      local.host.onStatus(({ sessionId }) => this.#own.mark(sessionId)),
      local.onRemoved(sessionId => this.#own.markRemoved(sessionId)),
      () => this.#spending.close(),
    )
    this.#said(local)
    // Runs without a broker too, because spending known from before still counts.
    this.#readProjects(local).catch(this.#options.onFault)
    this.#running = this.#run(local)
  }

  machines(): Machine[] {
    const named = [this.machine, ...this.#remote.machines()]
    return this.#machines.list({ named, keys: this.#keys })
  }

  readonly stateOf = (machine: string) => this.#machines.state(machine)

  info() {
    const { machine, role, url, cert } = this.#member
    const { connected } = this
    return {
      machine,
      role,
      url,
      connected,
      readOnly: this.#link?.fault ?? null,
      hasBroker: this.#letsIn,
      problem: connected ? null : this.#machines.problem,
      fingerprint: certificateFingerprint(cert),
      copies: { sends: this.#carrier.copyChoice.sends, isFixed: this.#carrier.copyChoice.isFixed },
    }
  }

  /** Makes a code with which one machine can join. Works only where the broker is. */
  readonly invite = (role: Role) => invite(this.#options.home, role)

  async revoke(machine: string): Promise<void> {
    await revoke(this.#options.home, machine)
    await this.#readKeys()
  }

  /**
   * Forgets a machine that does not come back: its sessions, their logs and copies are removed from the brokers and all
   * hubs.
   */
  async forget(machine: string): Promise<Forgotten> {
    await this.#readKeys()
    const { hasKey } = requireGone(this.machines(), machine, this.#letsIn)
    if (hasKey) await this.revoke(machine)
    return { machine, sessions: await this.#carrier.forget(machine) }
  }

  /** Chooses the machine for a new session, and says for each machine why it fits or not. */
  readonly choose = (work: Parameters<typeof choose>[0]) =>
    choose(work, this.#machines.forWork(this.machines(), this.#local && busyIn(this.#local.host)))

  /** Makes a session on another machine. */
  async create(machine: string, input: object): Promise<StoredSession> {
    const made = await callMachine(this.#link, machine, { path: 'sessions.create', input })
    this.#machines.placed(machine)
    return this.made(machine, made)
  }

  /** Records a session that another machine made for this hub, so that it is listed at once. */
  async made(machine: string, session: unknown): Promise<StoredSession> {
    if (this.#remote.made(machine, session, await this.#has(idIn(session)))) return session as StoredSession
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
    return callMachine(this.#link, machine, call)
  }

  readonly move = (sessionId: string, to: string): Promise<Moved> => this.#carrier.move(sessionId, to)

  readonly takeover = (sessionId: string, to: string, goOn?: boolean): Promise<TakenOver> =>
    this.#carrier.takeover(sessionId, to, { goOn })

  readonly sendCopies = (send: boolean): Promise<void> => this.#carrier.copyChoice.choose(send)

  readonly keep = (sessionId: string): Promise<Kept> => this.#carrier.keep(sessionId)

  /** Ships the rest of the logs if the broker is there; the remainder is shipped after the next start. */
  async close(): Promise<void> {
    const { signal } = this.#stop
    if (signal.aborted) return
    this.#stop.abort()
    // Requests to a broker that is away would wait for their timeout.
    if (!this.connected) await this.#link?.close()
    await this.#running.catch(error => this.#options.onFault?.(error))
    await Promise.race([this.#lastWords().catch(() => {}), sleep(LAST_WORDS_MS, undefined, { ref: false })])
    for (const clean of this.#cleanups.splice(0)) await clean()
    await this.#mirror.close()
    await this.#link?.close()
    await this.#broker?.stop()
    await this.#lock.release()
  }

  async #lastWords(): Promise<void> {
    const link = this.#link
    if (link === undefined || this.#local === undefined || !link.connected) return
    await this.#shipper?.flush()
    this.#own.markTold()
    await this.#own.tell(link, this.#local)
  }

  async #run(local: LocalMachine): Promise<void> {
    const { signal } = this.#stop
    const { onNews } = this.#options
    const link = await openLink(this.#member, signal, why => this.#machines.refused(why, onNews))
    if (link === undefined) return
    this.#link = link
    this.#machines.connected(true)
    this.#cleanups.push(
      link.onConnected(connected => {
        this.#machines.connected(connected)
        this.#carrier.connected()
        // A broker that lost its disk has no streams any more.
        if (connected && this.role === 'hub') link.prepare().catch(error => this.#options.onFault?.(error))
        onNews?.(`The fleet is ${connected ? 'connected again' : 'not connected. Agents work on'}.`)
      }),
    )
    if (this.role === 'hub') await this.#lead(link)
    const shipper = new Shipper({
      link,
      machine: this.machine,
      onFault: this.#options.onFault,
      projects: () => this.#allRoots(local),
      open: () => local.host.statuses(),
    })
    this.#shipper = shipper
    const desk = this.#carrier.desk(local, async session => {
      this.#own.mark(session)
      await this.#own.tell(link, local)
    })
    const work = this.turns.desk(link, local.host)
    this.#cleanups.push(
      () => shipper.close(),
      answerCalls(link, this.machine, {
        call: call => local.answer(call),
        bytes: (session, from) => bytesOf(this.#allRoots(local), session, from),
        moves: desk,
        work,
        spent: told => this.#spending.take(told),
      }),
    )
    this.#options.onNews?.(`This is the ${this.role} ${this.machine} of the fleet at ${this.#member.url}.`)
    void Machines.agentsOf(local, this.#options.onFault).then(agents => {
      this.#agents = agents
    })
    await this.#own.markAll(local)
    let beatAt = Number.NEGATIVE_INFINITY
    while (!signal.aborted) {
      try {
        if (performance.now() - beatAt >= BEAT_MS) {
          beatAt = performance.now()
          await this.#readProjects(local)
          // `chirality fleet` changes the keys too.
          await this.#readKeys()
          await this.#carrier.check(local)
          await this.#own.beat(link, local, this.#said(local))
          if (this.role === 'hub')
            this.#spending.tell(this.machines(), (...said) => tellSpending(link, ...said))
        }
        await this.#own.tell(link, local)
        if (this.role === 'hub') for (const part of [this.#carrier, this.turns]) part.goOn()
        work.lookSoon()
      } catch (error) {
        if (link.connected && !signal.aborted && link.fault === undefined) this.#options.onFault?.(error)
      }
      if (link.fault !== undefined) this.#streams?.repair()
      this.#machines.stored(link, this.#options.onNews)
      this.#machines.refused(link.refusal, this.#options.onNews)
      // Runs while nothing can be published too: that is when machines are away.
      this.#noticeStates()
      await sleep(TELL_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** Starts the duties of a hub: it keeps the streams, reads them, and lets machines join. */
  async #lead(link: Link): Promise<void> {
    const { home, onFault, onNews } = this.#options
    const say = (name: string, key: string) => onNews?.(`The machine ${name} joined. Its key is ${key}.`)
    const joined = (...who: [string, string]) => void this.#readKeys().then(() => say(...who), onFault)
    // Letting machines in works without stored streams.
    if (this.#letsIn) this.#cleanups.push(letIn(home, link, joined))
    const heard = new HeardStates({
      own: this.machine,
      machines: this.#machines,
      remote: this.#remote,
      mirror: this.#mirror,
      carrier: this.#carrier,
      has: id => this.#has(id),
      spending: this.#spending,
    })
    this.#streams = await HubStreams.open(
      {
        link,
        onFault,
        cursorFile: join(fleetFolder(home), 'mirrors', '.cursor'),
        onEvents: async message => {
          if (parseSubject(message.subject)?.machine !== this.machine) await this.#mirror.take(message)
        },
        safeCursor: cursor => this.#mirror.safeCursor(cursor),
        onState: (message, isLive) => heard.take(link, message, isLive),
      },
      this.#stop.signal,
    )
    this.#cleanups.push(() => this.#streams?.close())
    const owners = this.#carrier.follow(link)
    this.#cleanups.push(() => owners.close())
  }

  async #has(session: string): Promise<boolean> {
    return (await this.#local?.host.store.get(session).catch(() => undefined)) !== undefined
  }

  /** The beat of this machine. Recorded locally too: a worker never hears its own beat. */
  #said(local: LocalMachine): Beat {
    const { labels, slots } = this.#options
    const own = { agents: this.#agents, repositories: this.#repositories, spent: this.#spent }
    const { sends: copies } = this.#carrier.copyChoice
    return this.#machines.said(beatOf(local, { role: this.role, labels, slots, copies, ...own }))
  }

  async #readProjects(local: LocalMachine): Promise<void> {
    this.#repositories = await local.repositories()
    this.#spent = summedSpending(await local.spent())
    await this.#own.markOpened(local)
  }

  async #readKeys(): Promise<void> {
    if (this.#letsIn) this.#keys = (await readBroker(this.#options.home))?.machines
  }

  /** Includes closed projects and those of earlier runs: what the brokers lost is shipped again. */
  #allRoots({ host }: LocalMachine): string[] {
    return [...new Set([...host.projects(), ...this.#own.roots()])]
  }

  /** Tells listeners of a machine's sessions when the machine goes away or returns. */
  #noticeStates(): void {
    const changed = this.#machines.changed()
    for (const { machine, session } of changed.size === 0 ? [] : this.#remote.list())
      if (changed.has(machine)) this.#remote.tell(session.id)
  }
}

const TELL_MS = 250
const LAST_WORDS_MS = 3_000
