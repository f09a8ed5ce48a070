import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FleetLocal } from '@chirality/centre'
import { BEAT_MS } from './claim/presence.ts'
import { letIn } from './engine/broker.ts'
import { fleetFolder } from './engine/fleet-files.ts'
import { type Link, openLink } from './engine/link.ts'
import type { FleetMemberOptions } from './fleet-member-options.ts'
import { HeardStates } from './heard-states.ts'
import { HubStreams } from './hub-streams.ts'
import type { Machine, Machines } from './machines.ts'
import type { Membership } from './membership.ts'
import type { Mirror } from './mirror/mirror.ts'
import type { Carrier } from './move/carrier.ts'
import type { OwnSessions } from './own-sessions.ts'
import type { RemoteSessions } from './remote-sessions.ts'
import { answerCalls, tellSpending } from './rpc/calls.ts'
import { bytesOf, Shipper } from './ship/shipper.ts'
import type { FleetSpending } from './spending.ts'
import { parseSubject } from './subjects.ts'
import type { ThisMachine } from './this-machine.ts'
import type { AwayTurns } from './work/away-turns.ts'
import type { WorkDesk } from './work/work-desk.ts'

export interface ConnectedParts {
  membership: Membership
  thisMachine: ThisMachine
  own: OwnSessions
  machines: Machines
  /** All machines of the fleet that are known. */
  listed: () => Machine[]
  remote: RemoteSessions
  mirror: Mirror
  spending: FleetSpending
  carrier: Carrier
  turns: AwayTurns
}

/**
 * The connection of a running server to its fleet. It connects in the background, sends beats, sessions and logs, answers
 * other machines, and on a hub keeps the streams. After a loss it connects again.
 */
export class FleetConnection {
  readonly #parts: ConnectedParts
  readonly #options: FleetMemberOptions
  readonly #stop = new AbortController()
  readonly #cleanups: (() => unknown)[] = []
  #link: Link | undefined
  #shipper: Shipper | undefined
  #streams: HubStreams | undefined
  #local: FleetLocal | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(parts: ConnectedParts, options: FleetMemberOptions) {
    this.#parts = parts
    this.#options = options
  }

  /** Undefined before the first connection; kept after a loss. */
  get link(): Link | undefined {
    return this.#link
  }

  start(local: FleetLocal): void {
    const { own, spending } = this.#parts
    this.#local = local
    this.#cleanups.push(
      local.host.onStatus(({ sessionId }) => own.mark(sessionId)),
      local.onRemoved(sessionId => own.markRemoved(sessionId)),
      () => spending.close(),
    )
    this.#said(local)
    // Runs without a broker too, because spending known from before still counts.
    this.#readProjects(local).catch(this.#options.onFault)
    this.#running = this.#run(local)
  }

  /** Ships the rest of the logs if the broker is there; the remainder is shipped after the next start. */
  async close(): Promise<void> {
    const { signal } = this.#stop
    if (signal.aborted) return
    this.#stop.abort()
    // Requests to a broker that is away would wait for their timeout.
    if (!this.#link?.connected) await this.#link?.close()
    await this.#running.catch(error => this.#options.onFault?.(error))
    await Promise.race([this.#lastWords().catch(() => {}), sleep(LAST_WORDS_MS, undefined, { ref: false })])
    for (const clean of this.#cleanups.splice(0)) await clean()
    await this.#parts.mirror.close()
    await this.#link?.close()
    await this.#parts.membership.close()
  }

  async #lastWords(): Promise<void> {
    const link = this.#link
    if (link === undefined || this.#local === undefined || !link.connected) return
    await this.#shipper?.flush()
    this.#parts.own.markTold()
    await this.#parts.own.tell(link, this.#local)
  }

  async #run(local: FleetLocal): Promise<void> {
    const { signal } = this.#stop
    const { onNews, onFault } = this.#options
    const { membership, machines, thisMachine, own } = this.#parts
    const { machine, role, url } = membership.member
    const link = await openLink(membership.member, signal, why => machines.refused(why, onNews))
    if (link === undefined) return
    this.#link = link
    machines.connected(true)
    this.#cleanups.push(link.onConnected(connected => this.#changed(link, connected)))
    if (this.#isHub) await this.#lead(link)
    const work = this.#serve(link, local)
    onNews?.(`This is the ${role} ${machine} of the fleet at ${url}.`)
    void thisMachine.readAgents(local)
    await own.markAll(local)
    let beatAt = Number.NEGATIVE_INFINITY
    while (!signal.aborted) {
      const isDue = performance.now() - beatAt >= BEAT_MS
      if (isDue) beatAt = performance.now()
      try {
        if (isDue) await this.#beat(link, local)
        await this.#tell(link, local)
        work.lookSoon()
      } catch (error) {
        if (link.connected && !signal.aborted && link.fault === undefined) onFault?.(error)
      }
      this.#noteFaults(link)
      await sleep(TELL_MS, undefined, { signal }).catch(() => {})
    }
  }

  get #isHub(): boolean {
    return this.#parts.membership.member.role === 'hub'
  }

  #changed(link: Link, connected: boolean): void {
    const { machines, carrier } = this.#parts
    const { onFault, onNews } = this.#options
    machines.connected(connected)
    carrier.connected()
    // A broker that lost its disk has no streams any more.
    if (connected && this.#isHub) link.prepare().catch(error => onFault?.(error))
    onNews?.(`The fleet is ${connected ? 'connected again' : 'not connected. Agents work on'}.`)
  }

  /** Starts the duties of a hub: it keeps the streams, reads them, and lets machines join. */
  async #lead(link: Link): Promise<void> {
    const { home, onFault, onNews } = this.#options
    const { membership, machines, remote, mirror, carrier, spending, thisMachine } = this.#parts
    const { machine: own } = membership.member
    const say = (name: string, key: string) => onNews?.(`The machine ${name} joined. Its key is ${key}.`)
    const joined = (...who: [string, string]) => void membership.readKeys().then(() => say(...who), onFault)
    // Letting machines in works without stored streams.
    if (membership.letsIn) this.#cleanups.push(letIn(home, link, joined))
    const has = (id: string) => thisMachine.has(id)
    const heard = new HeardStates({ own, machines, remote, mirror, carrier, has, spending })
    this.#streams = await HubStreams.open(
      {
        link,
        onFault,
        cursorFile: join(fleetFolder(home), 'mirrors', '.cursor'),
        onEvents: async message => {
          if (parseSubject(message.subject)?.machine !== own) await mirror.take(message)
        },
        safeCursor: cursor => mirror.safeCursor(cursor),
        onState: (message, isLive) => heard.take(link, message, isLive),
      },
      this.#stop.signal,
    )
    this.#cleanups.push(() => this.#streams?.close())
    const owners = carrier.follow(link)
    this.#cleanups.push(() => owners.close())
  }

  /** Ships the logs of this machine and answers hubs, until the connection is closed. */
  #serve(link: Link, local: FleetLocal): WorkDesk {
    const { membership, own, carrier, turns, spending } = this.#parts
    const { machine } = membership.member
    const shipper = new Shipper({
      link,
      machine,
      onFault: this.#options.onFault,
      projects: () => this.#allRoots(local),
      sessions: local.host,
    })
    this.#shipper = shipper
    const moves = carrier.desk(local, async session => {
      own.mark(session)
      await own.tell(link, local)
    })
    const work = turns.desk(link, local.host)
    const stopAnswers = answerCalls(link, machine, {
      call: call => local.answer(call),
      bytes: (session, from) => bytesOf(this.#allRoots(local), session, from),
      moves,
      work,
      spent: told => spending.take(told),
    })
    this.#cleanups.push(() => shipper.close(), stopAnswers)
    return work
  }

  async #beat(link: Link, local: FleetLocal): Promise<void> {
    const { membership, own, carrier, spending, listed } = this.#parts
    await this.#readProjects(local)
    // `chirality fleet` changes the keys too.
    await membership.readKeys()
    await carrier.check(local)
    await own.beat(link, local, this.#said(local))
    if (this.#isHub) spending.tell(listed(), (...said) => tellSpending(link, ...said))
  }

  async #tell(link: Link, local: FleetLocal): Promise<void> {
    const { own, carrier, turns } = this.#parts
    await own.tell(link, local)
    if (this.#isHub) for (const part of [carrier, turns]) part.goOn()
  }

  #noteFaults(link: Link): void {
    const { machines, remote } = this.#parts
    const { onNews } = this.#options
    if (link.fault !== undefined) this.#streams?.repair()
    machines.stored(link, onNews)
    machines.refused(link.refusal, onNews)
    // Runs while nothing can be published too: that is when machines are away.
    const changed = machines.changed()
    for (const { machine, session } of changed.size === 0 ? [] : remote.list())
      if (changed.has(machine)) remote.tell(session.id)
  }

  /** The beat of this machine. Recorded locally too: a worker never hears its own beat. */
  #said(local: FleetLocal) {
    const { machines, thisMachine, carrier, membership } = this.#parts
    const { role } = membership.member
    return machines.said(thisMachine.beat(local, { role, copies: carrier.copyChoice.sends }))
  }

  async #readProjects(local: FleetLocal): Promise<void> {
    await this.#parts.thisMachine.readProjects(local)
    await this.#parts.own.markOpened(local)
  }

  /** Includes closed projects and those of earlier runs: what the brokers lost is shipped again. */
  #allRoots({ host }: FleetLocal): string[] {
    return [...new Set([...host.projects(), ...this.#parts.own.roots()])]
  }
}

const TELL_MS = 250
const LAST_WORDS_MS = 3_000
