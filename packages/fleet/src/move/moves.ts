import { randomBytes } from 'node:crypto'
import { isRefusal } from '@chirality/sessions'
import { z } from 'zod'
import { hasIt, type Owner, Owners } from '../claim/owners.ts'
import type { Link } from '../engine/link.ts'
import { fleetError } from '../fleet-error.ts'
import type { Machine } from '../machines.ts'
import { askMove, fetchParcel, isAbsent } from '../rpc/calls.ts'
import type { AboutSession, CloneHere, MoveStep } from '../rpc/protocol.ts'
import { Notes } from './notes.ts'

export interface MovesOptions {
  /** Folder for the notes of moves that this hub started. */
  folder: string
  link: () => Link | undefined
  machines: () => Machine[]
  /** Sessions that are being moved or taken over. */
  running: Set<string>
}

const note = z.object({
  move: z.string(),
  session: z.string(),
  from: z.string(),
  to: z.string(),
  /** Epoch of the owner when the move started, if the broker knew one. */
  epoch: z.number().optional(),
})
type Note = z.infer<typeof note>

const leavingMove = z.object({ id: z.string(), from: z.string(), to: z.string() })
type LeavingMove = z.infer<typeof leavingMove>

export interface KeptSession {
  session: string
  /** The machine that has the session now. */
  machine: string
  /** The machine that did not come back. */
  gaveUp: string | null
}

/** `has` is true if the machine has the session at all. */
export const cancelAnswer = z.object({ isHere: z.boolean(), has: z.boolean().default(false) })

export interface Moved {
  session: string
  from: string
  to: string
}

/**
 * Moves sessions between machines. A hub does it, since it may call both. The source machine stops the session first
 * and starts nothing more; it gives the session up only when the target has it. A hub that is killed in between
 * finishes or reverts the move at its next start.
 */
export class Moves {
  readonly #options: MovesOptions
  readonly #running: Set<string>
  readonly #notes: Notes<Note>

  constructor(options: MovesOptions) {
    const { folder, running } = options
    this.#options = options
    this.#running = running
    const nameOf = ({ session }: Note) => session
    this.#notes = new Notes({ folder, running, schema: note, nameOf, aboutOf: nameOf, againMs: AGAIN_MS })
  }

  async move(session: string, from: string, to: string): Promise<Moved> {
    if (from === to) throw fleetError('move-failed', `The session is on ${to} already.`)
    if (this.#running.has(session)) throw fleetError('move-failed', 'This session is being moved already.')
    this.#running.add(session)
    try {
      // An interrupted move is settled first: its note says which machine may have the session.
      const [begun] = this.#notes.of(session)
      if (begun !== undefined && (await this.#settle(begun)))
        return { session, from: begun.from, to: begun.to }
      return await this.#move(session, from, to)
    } finally {
      this.#running.delete(session)
    }
  }

  /**
   * Gives up a move or a takeover whose target does not come back: the session continues where it was. A target that is
   * reachable says whether it has the session. `at` is the machine believed to have it. `expect` stores the machine
   * that is given up before the owner changes: a hub that is killed then can ask that machine for its part when it
   * returns.
   */
  async keep(
    session: string,
    at: string,
    expect: (kept: KeptSession & { gaveUp: string }) => Promise<void>,
  ): Promise<KeptSession> {
    const { machines } = this.#options
    const link = this.#options.link()
    if (this.#running.has(session)) throw fleetError('move-failed', 'This session is being moved just now.')
    this.#running.add(session)
    try {
      const { id: move, from, to } = await this.#leaving(session, at)
      const isTaken = isRefusal({ id: move })
      if (isTaken && at !== from)
        throw fleetError('move-failed', `The machine ${at} took this session over. Go on there.`)
      const machine = machines().find(one => one.machine === to)
      if (!isTaken && machine !== undefined && machine.state !== 'away') {
        // The target answers, so it knows whether it has the session.
        const note = (gone: string) => expect({ session, machine: from, gaveUp: gone })
        const { epoch, gone = null } = await this.#keepable({ move, session, from, to }, note)
        const isThere = await this.#settle({ move, session, from, to, epoch })
        return { session, machine: isThere ? to : from, gaveUp: isThere ? null : gone }
      }
      if (!isTaken) await requireAbsent(link, to)
      const { seen, gone } = await replaceableOwner({ link, machines: machines() }, session, from)
      // The target may have received everything before it was gone; it is refused when it returns.
      const gaveUp = gone ?? (isTaken ? null : to)
      if (gaveUp !== null) await expect({ session, machine: from, gaveUp })
      await ownersOf(link).give(session, from, { move: newId('kept'), seen })
      await this.#ask(from, { step: 'keep', session, move })
      this.#notes.remove({ move, session, from, to })
      return { session, machine: from, gaveUp }
    } finally {
      this.#running.delete(session)
    }
  }

  /**
   * Epoch of the owner of a session whose move is given up while its target answers. Rejects if another machine has the
   * session. A machine that is `gone` is replaced, and refused when it returns.
   */
  async #keepable(
    { move, session, from, to }: Note,
    expect: (gone: string) => Promise<void>,
  ): Promise<{ epoch?: number | undefined; gone?: string }> {
    const link = this.#options.link()
    const owner = await ownersOf(link).read(session)
    if (owner?.machine === to && owner.move === move) return owner
    const { seen, ...other } = await replaceableOwner(
      { link, machines: this.#options.machines() },
      session,
      from,
    )
    if (seen === undefined || seen.machine === from) return { epoch: seen?.epoch }
    if (other.gone !== undefined) await expect(other.gone)
    const { epoch } = await ownersOf(link).give(session, from, { move: newId('kept'), seen })
    return { epoch, ...other }
  }

  finishSoon(): void {
    this.#notes.finishSoon(begun => this.#settle(begun))
  }

  /** Settles the moves of a killed hub. A machine that is away now is asked again by the next call. */
  async finish(): Promise<void> {
    await this.#notes.finishAll(begun => this.#settle(begun))
  }

  /** The move that a session waits for, as its machine reports it: hubs may show the session at its target. */
  async #leaving(session: string, at: string): Promise<LeavingMove> {
    const [begun] = this.#notes.of(session)
    const here = this.#options.machines().flatMap(({ machine, state }) => (state === 'here' ? [machine] : []))
    let problem: unknown
    for (const machine of new Set([...(begun === undefined ? [] : [begun.from]), at, ...here])) {
      try {
        const said = await this.#ask(machine, { step: 'leaving', session })
        const leaving = leavingMove.nullable().parse(said)
        if (leaving?.from === machine) return leaving
      } catch (error) {
        if (machine === at) problem = error
      }
    }
    throw problem ?? fleetError('move-failed', 'This session is not being moved: it can be used where it is.')
  }

  async #move(session: string, from: string, to: string): Promise<Moved> {
    const about = (await this.#ask(from, { step: 'about', session })) as AboutSession
    requireReady(this.#options.machines(), to, about.harness)
    const { roots, prefix, projectRoot: path } = about
    const place = (await this.#ask(to, { step: 'place', session, roots, prefix, path })) as CloneHere
    // Read before packing: a hub that gives the session to another machine from now on makes this move stale.
    const before = await ownersOf(this.#options.link()).read(session)
    const wanted = newId('move')
    const begun: Note = { move: wanted, session, from, to, epoch: before?.epoch }
    await this.#notes.write(begun)
    try {
      const haves = place.commits
      const packed = (await this.#ask(from, { step: 'pack', session, move: wanted, from, to, haves })) as {
        move: string
        size: number
        sha256: string
      }
      begun.move = packed.move
      await this.#notes.write(begun)
      await this.#carry(begun, packed.size)
      const { move, sha256 } = packed
      await this.#give(begun, before)
      await this.#ask(to, { step: 'open', session, move, sha256, project: place.project })
      await this.#handOver(begun)
      await sayClone(this.#options.link(), { session, to, place })
      return { session, from, to }
    } catch (error) {
      // After any failure one machine ends up with the session: the target if it got that far, else the source.
      const isThere = await this.#settle(begun).catch(() => undefined)
      if (isThere) return { session, from, to }
      throw error
    }
  }

  /**
   * Writes the owner before the target opens the session: of two hubs that move or take over one session at once, only
   * one can go on. From then on the source is refused, even if it returns without having heard of it.
   */
  async #give({ session, from, to, move }: Note, before: Owner | undefined): Promise<void> {
    const link = this.#options.link()
    const now = await ownersOf(link).read(session)
    const isGiven = now?.machine === to && now.move === move
    const { seen } = isGiven
      ? { seen: now }
      : await replaceableOwner({ link, machines: this.#options.machines() }, session, from)
    if (!isGiven && seen?.epoch !== before?.epoch) throw hasIt(seen ?? before)
    await ownersOf(link).give(session, to, { move, seen })
  }

  /** Asks once: a repeated step answers with the current state. */
  #ask(machine: string, step: MoveStep): Promise<unknown> {
    return askMove(this.#options.link(), machine, step)
  }

  async #carry({ move, from, to }: Note, size: number): Promise<void> {
    for (let at = 0; at < size; ) {
      const piece = Buffer.from(await fetchParcel(this.#options.link(), from, { move, from: at }))
      if (piece.length === 0)
        throw fleetError('move-failed', `${from} does not send the session. Move it again.`)
      await this.#ask(to, { step: 'put', move, from: at, content: piece.toString('base64') })
      at += piece.length
    }
  }

  async #handOver(begun: Note): Promise<void> {
    const { session, from, to, move } = begun
    await this.#ask(from, { step: 'leave', session, move })
    // Sent after the source gave it up: hubs show the first machine that reports the session.
    await this.#ask(to, { step: 'tell', session })
    this.#notes.remove(begun)
  }

  /** Settles an interrupted move. True if the session is on the target. */
  async #settle(begun: Note): Promise<boolean> {
    const { session, from, to, move } = begun
    const { isHere } = cancelAnswer.parse(await this.#ask(to, { step: 'cancel', move, session }))
    const owners = ownersOf(this.#options.link())
    const owner = await owners.read(session)
    // Another hub gave the move up meanwhile: the target is refused, and the source continues.
    const isKept = isHere && owner?.machine === from
    if (isHere && !isKept) {
      // Brokers that lost their disks have no owner stored.
      if (owner === undefined) await owners.give(session, to, { move, seen: undefined })
      await this.#handOver(begun)
      return true
    }
    if (owner?.machine === to && owner.move === move) await owners.give(session, from, { move, seen: owner })
    // If another machine was given the session since, this hub must not release it at the source.
    const isOwn = owner?.machine === from || (owner?.machine === to && owner.move === move)
    const isOthers = owner !== undefined && !isOwn && owner.epoch !== begun.epoch
    // Sent for a kept session too: the hub that gave the move up may have been killed before it said so.
    if (!isOthers) await this.#ask(from, { step: 'keep', session, move })
    this.#notes.remove(begun)
    return false
  }
}

export function ownersOf(link: Link | undefined): Owners {
  if (link?.connected) return new Owners(link)
  throw fleetError('machine-away', 'This machine is not connected to the fleet now. Nothing was done.')
}

/**
 * The owner of a session of `from`, if a hub may replace it: it is `from` itself, a machine that never got the session
 * and will not, or one that is `gone`. Rejects if another machine has the session.
 */
export async function replaceableOwner(
  { link, machines }: { link: Link | undefined; machines: readonly Machine[] },
  session: string,
  from: string,
): Promise<{ seen: Owner | undefined; gone?: string }> {
  const seen = await ownersOf(link).read(session)
  if (seen === undefined || seen.machine === from) return { seen }
  const { machine, move } = seen
  if ((machines.find(one => one.machine === machine)?.state ?? 'away') === 'away') {
    await requireAbsent(link, machine)
    return { seen, gone: machine }
  }
  if (move === undefined) throw hasIt(seen)
  const { isHere, has } = cancelAnswer.parse(await askMove(link, machine, { step: 'cancel', move, session }))
  if (isHere || has) throw hasIt(seen)
  return { seen }
}

async function requireAbsent(link: Link | undefined, machine: string): Promise<void> {
  if (!(await isAbsent(link, machine)))
    throw fleetError(
      'machine-silent',
      `The machine ${machine} did not answer, and may do so soon. Try again.`,
    )
}

/** Tells the conversation which clone it continues in, and why, if the machine has several. */
export async function sayClone(
  link: Link | undefined,
  { session, to, place: { project, why } }: { session: string; to: string; place: CloneHere },
): Promise<void> {
  if (why === undefined) return
  const words = `On ${to} the session is in a worktree of ${project}: ${why}.`
  // The session is there in any case.
  await askMove(link, to, { step: 'say', session, words }).catch(() => {})
}

export function newId(kind: string): string {
  return `${kind}-${randomBytes(6).toString('hex')}`
}

/** Throws unless the machine can continue a session of the agent. */
export function requireReady(machines: readonly Machine[], to: string, harness: string | null): void {
  const machine = machines.find(one => one.machine === to)
  if (machine === undefined) throw fleetError('move-failed', `No machine of the fleet is called ${to}.`)
  if (machine.state !== 'here')
    throw fleetError('machine-away', `The machine ${to} cannot be reached now. Nothing was done.`)
  // A machine that just started is heard before its agents are known.
  if (harness !== null && machine.agents.length === 0)
    throw fleetError('move-failed', `${to} has not said yet which agents it has. Try again in a moment.`)
  const agent = machine.agents.find(({ id }) => id === harness)
  if (harness !== null && agent?.installed !== true)
    throw fleetError('move-failed', `The agent ${harness} is not installed on ${to}.`)
}

const AGAIN_MS = 10_000
