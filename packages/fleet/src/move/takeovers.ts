import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { RemoteSession } from '@chirality/centre'
import type { SessionLog } from '@chirality/sessions'
import { z } from 'zod'
import { hasIt } from '../claim/owners.ts'
import type { Link } from '../engine/link.ts'
import { fleetError } from '../fleet-error.ts'
import type { Machine } from '../machines.ts'
import { askMove, callMachine, isAbsent } from '../rpc/calls.ts'
import type { CloneHere, MoveStep, Taken } from '../rpc/protocol.ts'
import type { Copies, Copy } from './copies.ts'
import {
  cancelAnswer,
  type Moved,
  newId,
  ownersOf,
  replaceableOwner,
  requireReady,
  sayClone,
} from './moves.ts'
import { Notes } from './notes.ts'
import { readAt, readParcel, writeParcel } from './parcel-file.ts'
import { type StepTime, StepTimes } from './step-times.ts'

export interface TakeoversOptions {
  /** Folder for the notes of takeovers that this hub started, and of those whose machine has not returned. */
  folder: string
  link: () => Link | undefined
  machines: () => Machine[]
  copies: Copies
  /** The mirrored log of a session of another machine. */
  log: (sessionId: string) => Promise<SessionLog>
  session: (sessionId: string) => RemoteSession | undefined
  /** Sessions that are being moved or taken over. */
  running: Set<string>
}

const note = z.object({
  move: z.string(),
  session: z.string(),
  from: z.string(),
  to: z.string(),
  taken: z.object({ seq: z.number(), usd: z.number(), tokens: z.number() }),
  /** The target has the session. The old machine is asked for its further events when it returns. */
  isDone: z.boolean(),
  /** The message about the returned machine that the conversation still has to get. */
  words: z.string().optional(),
  /** True if the agent is to be asked to continue; in a finished takeover, if it is not known whether it was asked. */
  goOn: z.boolean().optional(),
})
type Note = z.infer<typeof note>

export interface TakenOver extends Moved {
  /** True if the agent was asked to continue. */
  asked: boolean
  /** Why the agent was not asked, although it was wanted. */
  problem: string | null
  /** Completed steps in order. Empty when this call only finished an earlier takeover. */
  steps: StepTime[]
}

const orphaned = z
  .object({ events: z.number(), usd: z.number(), log: z.string(), ref: z.string().optional() })
  .nullable()

/**
 * Takes over sessions of machines that are gone. A machine is gone if this hub heard nothing of it during an unbroken
 * connection, and no process answers for it. The steps: make a parcel from the last copy and the mirrored log and send
 * it to the target; write the target as owner, which refuses the old machine from then on; open the session there.
 */
export class Takeovers {
  readonly #options: TakeoversOptions
  readonly #running: Set<string>
  /** Number of events this hub had when it refused a takeover because some were missing. */
  readonly #short = new Map<string, { seq: number; at: number }>()
  readonly #notes: Notes<Note>
  /** Takeovers whose parcels are being made or sent. */
  readonly #packing = new Set<string>()
  #isTidied = false

  constructor(options: TakeoversOptions) {
    const { folder, running } = options
    this.#options = options
    this.#running = running
    this.#notes = new Notes({
      folder,
      running,
      schema: note,
      againMs: AGAIN_MS,
      nameOf: ({ move }) => move,
      aboutOf: ({ session }) => session,
    })
  }

  /** Takes a session over. `goOn` asks the agent to continue; by default if a turn was running. */
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
      // The caller learns the outcome from this answer, so the note need not say it again.
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

  /** Notes that the target of a given-up move has to be refused when it returns. */
  async expect(session: string, { from, to, taken }: Pick<Note, 'from' | 'to' | 'taken'>): Promise<void> {
    await this.#notes.write({ move: newId('kept'), session, from, to, taken, isDone: true })
  }

  finishSoon(): void {
    if (!this.#isTidied) void this.#tidy().catch(() => {})
    this.#isTidied = true
    this.#notes.finishSoon(begun => this.#finish(begun))
  }

  /**
   * Finishes the takeovers of a killed hub, and collects what returned machines have of sessions that others took over.
   */
  async finish(): Promise<void> {
    await this.#notes.finishAll(begun => this.#finish(begun))
  }

  /** Removes the parcels of a killed hub: its takeovers are finished without them. */
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

  /**
   * Tells the session of a finished takeover that its hub stopped before it asked the agent. The note stays if the
   * machine cannot be reached.
   */
  async #sayStopped(done: Note, words: string): Promise<Note> {
    const { session, to } = done
    try {
      // The session may have been moved on.
      const owner = await ownersOf(this.#options.link()).read(session)
      await this.#ask(owner?.machine ?? to, { step: 'say', session, words })
    } catch {
      return done
    }
    const told = { ...done, goOn: false }
    await this.#notes.write(told)
    return told
  }

  /** Settles interrupted takeovers of the session first: one of them may have brought it to its target. */
  async #settled(session: string): Promise<Moved | undefined> {
    for (const begun of this.#notes.of(session)) {
      if (begun.isDone) continue
      // A takeover whose machine does not answer stays noted.
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
    // Read before the log: a hub that gives the session to another machine from now on makes this takeover stale.
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
      // Noted before the target gets anything: the pieces that a killed hub sent there have to be removed.
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
        // A returning machine checks its owners after it answers calls, so one of the two notices the other.
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
      // The gone machine may have received everything before.
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
      `${what}, so no other machine can go on with ${sends === false ? 'this one' : 'it'}. ${why === undefined ? '' : `The last try said: ${why.replace(/[.\s]*$/, '.')} `}Its mirrored log can be read and exported.`,
    )
  }

  /** Combines the last copy with the mirrored log and the queue that the machine last reported. */
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
        ...parcel,
        move: { id: move, from, to },
        log: log.path,
        // Settings chosen since the copy was made; the rest comes from the log.
        session: { ...session, claudeSessionId: parcel.session.claudeSessionId },
        queue: { ...parcel.queue, messages },
      }
      const written = await writeParcel(join(folder, 'parcel'), composed)
      return { taken, ...written }
    } finally {
      await log.close()
    }
  }

  /**
   * Rejects while the hub lacks events of the copy, because it may still be reading them. If none came for a minute, it
   * accepts what it has.
   */
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
        `This hub was not connected long enough to know whether ${machine} is gone. Try again in 15 seconds.`,
      )
    if (!(await isAbsent(this.#options.link(), machine)))
      throw fleetError(
        'machine-silent',
        `The machine ${machine} was not heard, but its connection is open. Its agent may be at work: try again.`,
      )
  }

  /** Settles an interrupted takeover. True if the session is on the target. */
  async #settle(begun: Note): Promise<boolean> {
    const { session, from, to, move, taken } = begun
    const { isHere } = cancelAnswer.parse(await this.#ask(to, { step: 'cancel', move, session }))
    const owners = ownersOf(this.#options.link())
    const owner = await owners.read(session)
    if (isHere && (owner === undefined || owner.machine === to)) {
      // Brokers that lost their disks have no owner stored: the old machine would not be refused.
      if (owner === undefined) await owners.give(session, to, { move, seen: undefined })
      await this.#done(begun)
      return true
    }
    if (isHere && owner !== undefined) {
      // Another machine got the session since, so both earlier ones give up their part.
      await this.expect(session, { from: to, to: owner.machine, taken })
      await this.#notes.write({ ...begun, isDone: true, goOn: false })
      return false
    }
    // Reverts only the owner that this takeover wrote: a later one may have chosen the same machine.
    if (owner?.machine === to && owner.move === move) await owners.give(session, from, { move, seen: owner })
    this.#notes.remove(begun)
    return false
  }

  async #done(begun: Note): Promise<void> {
    const { session, to } = begun
    await this.#notes.write({ ...begun, isDone: true })
    await this.#ask(to, { step: 'tell', session })
  }

  /** Lets a returned machine give up its part of the session, and tells the conversation where that is kept. */
  async #collect(done: Note): Promise<void> {
    const { session, from, to, move, taken } = done
    let { words } = done
    if (words === undefined) {
      const state = this.#options.machines().find(one => one.machine === from)?.state
      if (state !== 'here') return
      const owners = ownersOf(this.#options.link())
      const owner = await owners.read(session)
      if (owner === undefined) {
        // The brokers lost their disks, so the machine that took the session over is asked whether it still has it.
        const { has } = cancelAnswer.parse(await this.#ask(to, { step: 'cancel', move, session }))
        if (!has) return
        await owners.give(session, to, { move, seen: undefined })
      } else if (owner.machine === from) {
        // The session was moved back there since.
        this.#notes.remove(done)
        return
      }
      const step = { step: 'orphan', session, move: { id: move, from, to }, taken } as const
      words = wordsOf(from, orphaned.parse(await this.#ask(from, step)))
      await this.#notes.write({ ...done, words })
    }
    if (words !== '') {
      // The session may have been moved on.
      const owner = await ownersOf(this.#options.link()).read(session)
      await this.#ask(owner?.machine ?? to, { step: 'say', session, words })
    }
    this.#notes.remove(done)
  }

  #ask(machine: string, step: MoveStep): Promise<unknown> {
    return askMove(this.#options.link(), machine, step)
  }
}

/** Empty if the machine did nothing beyond what the others have. */
function wordsOf(from: string, orphan: z.infer<typeof orphaned>): string {
  if (orphan === null || (orphan.events === 0 && orphan.usd === 0)) return ''
  const { events, usd, log, ref } = orphan
  const cost = usd > 0 ? `, which cost $${usd.toFixed(4)} and are counted there` : ''
  const files = ref === undefined ? '' : ` and its files in ${ref}`
  return `${from} is back. It had ${events} more events of this session${cost}. They are kept there in ${log}${files} and were not merged.`
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
