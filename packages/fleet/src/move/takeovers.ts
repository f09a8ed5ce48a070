import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { SessionLog } from '@chirality/sessions'
import { z } from 'zod'
import { hasIt } from '../claim/owners.ts'
import type { Link } from '../engine/link.ts'
import { fleetError } from '../fleet-error.ts'
import type { Machine } from '../machines.ts'
import type { RemoteSession } from '../remote-sessions.ts'
import { askMove, callMachine, isAbsent } from '../rpc/calls.ts'
import type { Copies, Copy } from './copies.ts'
import type { CloneHere, MoveStep, Taken } from './move-desk.ts'
import { cancelled, type Moved, newId, ownersOf, replaceableOwner, requireReady, sayClone } from './moves.ts'
import { Notes } from './notes.ts'
import { readAt, readParcel, writeParcel } from './parcel-file.ts'
import { type StepTime, StepTimes } from './step-times.ts'

export interface TakeoversOptions {
  /** Where the takeovers are noted that this hub has begun, and those whose machine has not returned. */
  folder: string
  link: () => Link | undefined
  machines: () => Machine[]
  copies: Copies
  /** The mirrored log of a session of another machine. */
  log: (sessionId: string) => Promise<SessionLog>
  session: (sessionId: string) => RemoteSession | undefined
  /** The sessions that are moved or taken over just now. */
  running: Set<string>
}

const note = z.object({
  ...{ move: z.string(), session: z.string(), from: z.string(), to: z.string() },
  taken: z.object({ seq: z.number(), usd: z.number(), tokens: z.number() }),
  /** The new machine has it; the old one, when it returns, is asked for what it did since. */
  isDone: z.boolean(),
  /** What the conversation is still to say of the machine that returned. */
  words: z.string().optional(),
  /** The agent is to be asked to go on. Of one that is done: it is not known that it was. */
  goOn: z.boolean().optional(),
})
type Note = z.infer<typeof note>

export interface TakenOver extends Moved {
  /** Whether the agent was asked to go on. */
  asked: boolean
  /** Why it was not, though it was wanted. */
  problem: string | null
  /** What was done, in this order. Empty if it was finished what an earlier call began. */
  steps: StepTime[]
}

const orphaned = z
  .object({ events: z.number(), usd: z.number(), log: z.string(), ref: z.string().optional() })
  .nullable()

/**
 * Takes over sessions of machines that are gone. A machine is gone if it was not heard while this hub was connected all
 * the time, and nobody answers for it. First the parcel is made of the last copy and the mirrored log and sent to the new
 * machine, then the session is given to it, which refuses the old one from then on, and then it is opened there.
 */
export class Takeovers {
  readonly #options: TakeoversOptions
  readonly #running: Set<string>
  /** How many events this hub had when it refused a takeover because some were missing. */
  readonly #short = new Map<string, { seq: number; at: number }>()
  readonly #notes: Notes<Note>
  /** The takeovers whose parcels are made or sent. */
  readonly #packing = new Set<string>()
  #isTidied = false

  constructor(options: TakeoversOptions) {
    const { folder, running } = options
    this.#options = options
    this.#running = running
    this.#notes = new Notes({
      ...{ folder, running, schema: note, againMs: AGAIN_MS },
      nameOf: ({ move }) => move,
      aboutOf: ({ session }) => session,
    })
  }

  /** `goOn`: whether the agent is asked to go on. Default: if a turn of it was at work. */
  async takeover(
    session: string,
    to: string,
    { goOn }: { goOn?: boolean | undefined } = {},
  ): Promise<TakenOver> {
    if (this.#running.has(session))
      throw fleetError('move-failed', 'This session is being moved or taken over already.')
    this.#running.add(session)
    try {
      const remote = this.#options.session(session)
      if (remote === undefined) throw fleetError('move-failed', 'No other machine has this session.')
      const wasAtWork = remote.status !== null && remote.status.phase !== 'idle'
      const isAsked = goOn ?? wasAtWork
      const settled = await this.#settled(session)
      const times = new StepTimes()
      const moved = settled ?? (await this.#take(remote, { to, goOn: isAsked, times }))
      const answer = isAsked ? await this.#goOn(moved) : { asked: false, problem: null }
      if (answer.asked) times.done('agent asked')
      // The caller knows it from now on.
      for (const done of this.#notes.of(session))
        if (done.isDone && done.goOn) await this.#notes.write({ ...done, goOn: false }).catch(() => {})
      return { ...moved, ...answer, steps: settled === undefined ? times.list : [] }
    } finally {
      this.#running.delete(session)
    }
  }

  #goOn({ session, to }: Moved): Promise<Pick<TakenOver, 'asked' | 'problem'>> {
    const input = { sessionId: session, message: GO_ON }
    return callMachine(this.#options.link(), to, { path: 'turns.start', input }).then(
      () => ({ asked: true, problem: null }),
      (error: unknown) => ({ asked: false, problem: messageOf(error) }),
    )
  }

  /** A target of a move that did not come back is refused when it does. */
  async expect(session: string, { from, to, taken }: Pick<Note, 'from' | 'to' | 'taken'>): Promise<void> {
    await this.#notes.write({ move: newId('kept'), session, from, to, taken, isDone: true })
  }

  finishSoon(): void {
    if (!this.#isTidied) void this.#tidy().catch(() => {})
    this.#isTidied = true
    this.#notes.finishSoon(begun => this.#finish(begun))
  }

  /** What a hub that was killed began, and what machines that are back have of sessions that others took over. */
  async finish(): Promise<void> {
    await this.#notes.finishAll(begun => this.#finish(begun))
  }

  /** The parcels of a hub that was killed: its takeovers are finished without them. */
  async #tidy(): Promise<void> {
    const { folder } = this.#options
    for (const entry of await readdir(folder, { withFileTypes: true }))
      if (entry.isDirectory() && !this.#packing.has(entry.name))
        await rm(join(folder, entry.name), { recursive: true, force: true })
  }

  async #finish(begun: Note): Promise<void> {
    if (begun.isDone) await this.#collect(begun.goOn ? await this.#sayStopped(begun, MAYBE_ASKED) : begun)
    else if ((await this.#settle(begun)) && begun.goOn)
      await this.#sayStopped({ ...begun, isDone: true }, NOT_ASKED)
  }

  /** Of a takeover that is done and whose hub was stopped. If the machine cannot be told now, it stays noted. */
  async #sayStopped(done: Note, words: string): Promise<Note> {
    const { session, to } = done
    try {
      // It may have been moved on.
      const owner = await ownersOf(this.#options.link()).read(session)
      await this.#ask(owner?.machine ?? to, { step: 'say', session, words })
    } catch {
      return done
    }
    const told = { ...done, goOn: false }
    await this.#notes.write(told)
    return told
  }

  /** Takeovers of the session that were cut short come first: what they began may have got it somewhere. */
  async #settled(session: string): Promise<Moved | undefined> {
    for (const begun of this.#notes.of(session)) {
      if (begun.isDone) continue
      // One whose machine does not answer stays noted.
      const isThere = await this.#settle(begun).catch(() => false)
      if (isThere) return { session, from: begun.from, to: begun.to }
    }
    return undefined
  }

  async #take(
    remote: RemoteSession,
    { to, goOn, times }: { to: string; goOn: boolean; times: StepTimes },
  ): Promise<Moved> {
    const { machine: from, session } = remote
    const link = this.#options.link()
    await this.#requireGone(from)
    times.done('gone seen')
    // Before its log is read: whoever gives it to another machine from now on makes this takeover stale.
    const before = await ownersOf(link).read(session.id)
    if (from === to) throw fleetError('move-failed', `The machine ${to} is gone: name another one.`)
    requireReady(this.#options.machines(), to, session.harness)
    const copy = await this.#options.copies.get(from, session.id)
    if (copy === undefined) throw this.#noCopy(from, session.id)
    const { roots, prefix, projectRoot: path } = copy
    const place = (await this.#ask(to, {
      step: 'place',
      session: session.id,
      roots,
      prefix,
      path,
    })) as CloneHere
    times.done('clone chosen')
    const move = newId('takeover')
    const folder = join(this.#options.folder, move)
    this.#packing.add(move)
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const { taken, size, sha256 } = await this.#compose(remote, { move, to, copy, folder })
      times.done('log complete')
      const begun: Note = { move, session: session.id, from, to, taken, goOn, isDone: false }
      let gone: string | undefined
      // Before anything is at the new machine: what a hub that is killed sent there is removed.
      await this.#notes.write(begun)
      try {
        for (let at = 0; at < size; ) {
          const piece = await readAt(join(folder, 'parcel'), { at, bytes: PIECE_BYTES })
          await this.#ask(to, { step: 'put', move, from: at, content: piece.toString('base64') })
          at += piece.length
        }
        times.done('copy sent')
        const owner = await replaceableOwner({ link, machines: this.#options.machines() }, session.id, from)
        if (owner.seen?.epoch !== before?.epoch) throw hasIt(owner.seen ?? before)
        gone = owner.gone
        await ownersOf(link).give(session.id, to, { move, seen: owner.seen })
        // It looks who has its sessions after it answers calls, so one of the two notices the other.
        if (!(await isAbsent(link, from)))
          throw fleetError('move-failed', `The machine ${from} is back. Move the session instead.`)
        times.done('owner written')
        const step = { step: 'open', session: session.id, move, sha256, project: place.project } as const
        times.doneThere('way to the machine', await this.#ask(to, step))
        await this.#done(begun)
        times.done('hubs told')
      } catch (error) {
        const isThere = await this.#settle(begun).catch(() => undefined)
        if (!isThere) throw error
      }
      await sayClone(link, { session: session.id, to, place })
      // It may have got everything before it was gone.
      if (gone !== undefined) await this.expect(session.id, { from: gone, to, taken })
      if (taken.seq < copy.seq) {
        const words = `The events ${taken.seq + 1} to ${copy.seq} of this conversation never arrived at the hub and are missing above.`
        await this.#ask(to, { step: 'say', session: session.id, words }).catch(() => {})
      }
      return { session: session.id, from, to }
    } finally {
      await rm(folder, { recursive: true, force: true })
      this.#packing.delete(move)
    }
  }

  #noCopy(from: string, session: string): Error {
    const sends = this.#options.machines().find(({ machine }) => machine === from)?.copies
    const why = this.#options.copies.problem(from, session)
    const what =
      sends === false
        ? `${from} sends no copies of its sessions`
        : `No copy of the session arrived here before ${from} was gone`
    return fleetError(
      'move-failed',
      `${what}, so no other machine can go on with ${sends === false ? 'this one' : 'it'}. ${why === undefined ? '' : `The last try said: ${why.replace(/[.\s]*$/, '.')} `}What is mirrored can be read and exported.`,
    )
  }

  /** The last copy with the mirrored log, and the messages that waited when the machine was last heard. */
  async #compose(
    { machine: from, session, status }: RemoteSession,
    { move, to, copy, folder }: { move: string; to: string; copy: Copy; folder: string },
  ): Promise<{ taken: Taken; size: number; sha256: string }> {
    const parcel = await readParcel(copy.parcel, folder)
    const log = await this.#options.log(session.id)
    try {
      this.#requireWhole(session.id, { has: log.lastSeq, needs: copy.seq })
      const taken = { seq: log.lastSeq, usd: session.costUsd ?? 0, tokens: session.tokens }
      const messages = status === null ? parcel.queue.messages : status.queue
      const composed = {
        ...{ ...parcel, move: { id: move, from, to }, log: log.path },
        // What was chosen since the copy was made; the rest is what the log says.
        session: { ...session, claudeSessionId: parcel.session.claudeSessionId },
        queue: { ...parcel.queue, messages },
      }
      const written = await writeParcel(join(folder, 'parcel'), composed)
      return { taken, ...written }
    } finally {
      await log.close()
    }
  }

  /** A hub that was off reads what it missed. If nothing more came for a minute, it goes on with what it has. */
  #requireWhole(session: string, { has, needs }: { has: number; needs: number }): void {
    const before = this.#short.get(session)
    const isAll = has > 0 && before?.seq === has && performance.now() - before.at > REST_MS
    if (has >= needs || isAll) {
      this.#short.delete(session)
      return
    }
    if (before?.seq !== has) this.#short.set(session, { seq: has, at: performance.now() })
    throw fleetError(
      'move-failed',
      `This hub has ${has} of ${needs} events of this session, and reads the others from the broker. Nothing was done: try again in a minute.`,
    )
  }

  async #requireGone(machine: string): Promise<void> {
    const state = this.#options.machines().find(one => one.machine === machine)?.state ?? 'away'
    if (state === 'here')
      throw fleetError('move-failed', `The machine ${machine} is there. Move the session instead.`)
    if (state === 'unknown')
      throw fleetError(
        'machine-away',
        `It is not known yet whether ${machine} is gone: this hub was not connected long enough. Try again in 15 seconds.`,
      )
    if (!(await isAbsent(this.#options.link(), machine)))
      throw fleetError(
        'machine-silent',
        `The machine ${machine} was not heard, but its connection is open. Its agent may be at work: try again.`,
      )
  }

  /** Brings a takeover that was cut short to an end. True if the session is on the new machine. */
  async #settle(begun: Note): Promise<boolean> {
    const { session, from, to, move, taken } = begun
    const { isHere } = cancelled.parse(await this.#ask(to, { step: 'cancel', move, session }))
    const owners = ownersOf(this.#options.link())
    const owner = await owners.read(session)
    if (isHere && (owner === undefined || owner.machine === to)) {
      // Brokers that lost their disks know nothing of it: the old machine would not be refused.
      if (owner === undefined) await owners.give(session, to, { move, seen: undefined })
      await this.#done(begun)
      return true
    }
    if (isHere && owner !== undefined) {
      // Another machine got it since: these two give up what they have of it.
      await this.expect(session, { from: to, to: owner.machine, taken })
      await this.#notes.write({ ...begun, isDone: true, goOn: false })
      return false
    }
    // Only what this takeover wrote is taken back: a later one may have given it to the same machine.
    if (owner?.machine === to && owner.move === move) await owners.give(session, from, { move, seen: owner })
    this.#notes.remove(begun)
    return false
  }

  async #done(begun: Note): Promise<void> {
    const { session, to } = begun
    await this.#notes.write({ ...begun, isDone: true })
    await this.#ask(to, { step: 'tell', session })
  }

  /** A machine that is back gives up what it has of the session. The conversation says where that is. */
  async #collect(done: Note): Promise<void> {
    const { session, from, to, move, taken } = done
    let { words } = done
    if (words === undefined) {
      const state = this.#options.machines().find(one => one.machine === from)?.state
      if (state !== 'here') return
      const owners = ownersOf(this.#options.link())
      const owner = await owners.read(session)
      if (owner === undefined) {
        // Brokers lost their disks. The machine that took it over is asked whether it has it still.
        const { has } = cancelled.parse(await this.#ask(to, { step: 'cancel', move, session }))
        if (!has) return
        await owners.give(session, to, { move, seen: undefined })
      } else if (owner.machine === from) {
        // It was moved there since.
        this.#notes.remove(done)
        return
      }
      const step = { step: 'orphan', session, move: { id: move, from, to }, taken } as const
      words = wordsOf(from, orphaned.parse(await this.#ask(from, step)))
      await this.#notes.write({ ...done, words })
    }
    if (words !== '') {
      // It may have been moved on.
      const owner = await ownersOf(this.#options.link()).read(session)
      await this.#ask(owner?.machine ?? to, { step: 'say', session, words })
    }
    this.#notes.remove(done)
  }

  #ask(machine: string, step: MoveStep): Promise<unknown> {
    return askMove(this.#options.link(), machine, step)
  }
}

/** Empty if it did nothing that the others do not have. */
function wordsOf(from: string, orphan: z.infer<typeof orphaned>): string {
  if (orphan === null || (orphan.events === 0 && orphan.usd === 0)) return ''
  const { events, usd, log, ref } = orphan
  const cost = usd > 0 ? `, which cost $${usd.toFixed(4)} and are counted there` : ''
  const files = ref === undefined ? '' : ` and its files in ${ref}`
  return `${from} is back. It had ${events} more events of this session${cost}. They are kept there in ${log}${files}; nothing of them was merged.`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

const GO_ON = 'Go on with what you were doing.'
const NOT_ASKED =
  'The hub was stopped before it could ask the agent to continue. Send a message to continue the work.'
const MAYBE_ASKED =
  'The hub was stopped when it asked the agent to continue. If the agent is not at work, send a message to continue the work.'
const AGAIN_MS = 5_000
const REST_MS = 60_000
const PIECE_BYTES = 512 * 1024
