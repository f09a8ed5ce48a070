import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { KeyedQueue } from '@chirality/disk'
import type { SessionHost } from '@chirality/sessions'
import { commonCommits, gitStatus, projectOf, repositoryMark } from '@chirality/workspaces'
import type { Owner } from '../claim/owners.ts'
import { fleetError } from '../fleet-error.ts'
import { type CloneFacts, pickClone } from '../placement/pick-clone.ts'
import type { AboutSession, CloneHere, MoveStep } from '../rpc/protocol.ts'
import { hashOf, MOVE, readAt, readParcel, sizeOf, writeAt, writeParcel } from './parcel-file.ts'
import { StepTimes } from './step-times.ts'

export interface MoveDeskOptions {
  host: SessionHost
  /** Folder for parcels only. */
  folder: string
  machine: string
  /** Reports a session to the hubs, and resolves when the broker has it. */
  tell: (sessionId: string) => Promise<void>
  onLeft: (sessionId: string) => void
  sendsCopies: () => boolean
  /** The owner of a session according to the broker. */
  owner: (sessionId: string) => Promise<Owner | undefined>
}

/** Answers the steps of moves on one machine. */
export class MoveDesk {
  readonly #options: MoveDeskOptions
  /** Opening a parcel and cancelling its move exclude each other. */
  readonly #queues = new KeyedQueue()
  readonly #stop = new AbortController()
  /** Sessions being packed, for a move or as a copy. */
  readonly #packing = new Set<Promise<unknown>>()

  constructor(options: MoveDeskOptions) {
    this.#options = options
    // Removes copies that no hub fetched before this machine was killed.
    for (const name of namesIn(options.folder)) if (name.startsWith('copy-')) this.#forget(name)
  }

  async answer(request: MoveStep): Promise<unknown> {
    try {
      return await this.#answer(request)
    } catch (error) {
      if (!isFullDisk(error)) throw error
      const { machine } = this.#options
      throw fleetError(
        'move-failed',
        `The disk of ${machine} is full. Make room there, then try again.`,
        error,
      )
    }
  }

  async #answer(request: MoveStep): Promise<unknown> {
    const { host } = this.#options
    switch (request.step) {
      case 'about':
        return this.#about(request.session)
      case 'pack':
        return this.#counted(this.#pack(request))
      case 'leave':
        if (await host.moves.leave(request.session, request.move)) this.#options.onLeft(request.session)
        this.#forget(request.move)
        return this.#options.tell(request.session)
      case 'keep':
        this.#forget(request.move)
        return host.moves.keep(request.session, request.move)
      case 'leaving':
        return host.moves.leaving(request.session) ?? null
      case 'copy':
        return this.#counted(this.#copy(request))
      case 'forget':
        return this.#forget(request.move)
      case 'orphan':
        return this.#orphan(request)
      case 'place':
        return this.#place(request)
      case 'clones':
        return this.#clones(request)
      case 'say':
        return host.moves.tell(request.session, request.words)
      case 'put':
        return this.#put(request)
      case 'open':
        return this.#queues.run(request.session, () => this.#open(request))
      case 'cancel':
        return this.#queues.run(request.session, () => this.#cancel(request))
      case 'tell':
        return this.#options.tell(request.session)
      default:
        throw fleetError('move-failed', 'This machine runs another version of Chirality. Update both.')
    }
  }

  /** A piece of a parcel that was packed here. */
  bytes(move: string, from: number): Promise<Buffer> {
    return readAt(this.#file(move), { at: from, bytes: PIECE_BYTES })
  }

  /** Ends running packs, which would leave a git process and its files behind. */
  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.allSettled(this.#packing)
  }

  async #counted<T>(packing: Promise<T>): Promise<T> {
    this.#packing.add(packing)
    return packing.finally(() => this.#packing.delete(packing))
  }

  async #about(sessionId: string): Promise<AboutSession> {
    const session = await this.#options.host.store.resume(sessionId)
    const { title, harness, projectRoot } = session
    const mark = await repositoryMark(projectRoot)
    if (mark === undefined)
      throw fleetError(
        'move-failed',
        `${projectRoot} is in no git repository with a commit, so the files of the session cannot be carried.`,
      )
    return { title, harness, projectRoot, roots: mark.roots, prefix: mark.prefix }
  }

  async #pack({ session, move, from, to, haves }: MoveStep & { step: 'pack' }): Promise<unknown> {
    const folder = this.#folder(move)
    const parcel = await this.#options.host.moves.pack(session, {
      move: { id: move, from, to },
      haves,
      folder,
      signal: this.#stop.signal,
    })
    // A session that was packed before keeps the id of that move.
    const id = parcel.move.id
    const written = await writeParcel(this.#file(id), parcel)
    if (id !== move) this.#forget(move)
    return { move: id, ...written }
  }

  async #copy({ session, move, clones }: MoveStep & { step: 'copy' }): Promise<unknown> {
    const { host, machine, sendsCopies } = this.#options
    // Refused even if a hub asks: a hub that just connected may not know of the choice.
    if (!sendsCopies()) throw fleetError('move-failed', `${machine} sends no copies of its sessions.`)
    const folder = this.#folder(move)
    try {
      const { projectRoot } = await host.store.resume(session)
      const haves = await commonCommits(projectRoot, clones)
      const { signal } = this.#stop
      const copied = { move: { id: move, from: machine, to: machine }, haves, folder, signal }
      // The log is left out, because the hubs have it.
      const parcel = { ...(await host.moves.copy(session, copied)), log: '' }
      const written = await writeParcel(this.#file(move), parcel)
      rmSync(parcel.bundle, { force: true })
      return { ...written, seq: parcel.cut.seq }
    } catch (error) {
      this.#forget(move)
      throw error
    }
  }

  async #orphan({ session, move, taken }: MoveStep & { step: 'orphan' }): Promise<unknown> {
    const { host, machine, onLeft } = this.#options
    if (!MOVE.test(move.id) || move.from !== machine)
      throw fleetError('move-failed', 'The id of the move is not valid.')
    // A hub's note may be old: the session may have been moved here since.
    const owner = await this.#options.owner(session)
    if (owner === undefined || owner.machine === machine)
      throw fleetError('move-failed', `No other machine than ${machine} was given this session.`)
    const orphan = await host.moves.orphan(session, move, taken)
    if (orphan !== undefined) onLeft(session)
    await this.#options.tell(session)
    return orphan ?? null
  }

  async #place({ session, roots, prefix, path }: MoveStep & { step: 'place' }): Promise<unknown> {
    const { host, machine } = this.#options
    if ((await host.store.get(session)) !== undefined)
      throw fleetError(
        'move-failed',
        `${machine} has a session of this id already, perhaps in a copy of the project.`,
      )
    const found = await this.#clones({ roots, prefix })
    const [first] = found
    if (first === undefined)
      throw fleetError(
        'move-failed',
        `${machine} has no clone of this repository open. Clone it there and start its worker with --project.`,
      )
    // With one clone there is no choice, so the state of its files does not matter.
    if (found.length === 1) return first
    const facts = await Promise.all(found.map(clone => this.#facts(clone, { session, path })))
    const { clone, why } = pickClone(facts) ?? { clone: first }
    const { project, commits } = clone
    return { project, commits, why } satisfies CloneHere
  }

  async #facts(
    clone: CloneHere,
    { session, path }: { session: string; path: string },
  ): Promise<CloneHere & CloneFacts> {
    const { host } = this.#options
    const { project } = clone
    const left = namesIn(join(project, '.chirality', 'moved'))
    const { files } = (await gitStatus(project).catch(() => undefined)) ?? {}
    return {
      ...clone,
      wasHere: left.some(name => name.startsWith(session)),
      isSamePath: project === path,
      isClean: files?.length === 0,
      isBusy: host.statuses().some(one => one.projectRoot === project && one.phase !== 'idle'),
    }
  }

  async #clones({ roots, prefix }: { roots: string[]; prefix: string }): Promise<CloneHere[]> {
    const found: CloneHere[] = []
    for (const project of this.#options.host.projects()) {
      const mark = await repositoryMark(project).catch(() => undefined)
      if (mark?.prefix === prefix && mark.roots.some(root => roots.includes(root)))
        found.push({ project, commits: mark.commits })
    }
    return found
  }

  async #put({ move, from, content }: MoveStep & { step: 'put' }): Promise<unknown> {
    const file = this.#file(move)
    const bytes = Buffer.from(content, 'base64')
    const size = await sizeOf(file)
    if (!Number.isSafeInteger(from) || from < 0 || from > size || from + bytes.length > MAX_PARCEL)
      throw fleetError('move-failed', 'A piece of the session is missing. Move it again.')
    await writeAt(file, bytes, from)
    return { size: from + bytes.length }
  }

  async #open({ session, move, sha256, project }: MoveStep & { step: 'open' }): Promise<unknown> {
    const times = new StepTimes()
    const folder = this.#folder(move)
    if (existsSync(join(folder, CANCELLED)))
      throw fleetError('move-failed', 'This move was given up. Move the session again.')
    if ((await hashOf(this.#file(move))) !== sha256)
      throw fleetError('move-failed', 'The received session is damaged. Nothing was changed: move it again.')
    const parcel = await readParcel(this.#file(move), folder)
    if (parcel.session.id !== session || parcel.move.id !== move)
      throw fleetError('move-failed', 'The received session is not the requested one. Nothing was changed.')
    times.done('copy unpacked')
    await this.#options.host.moves.receive(project, parcel, () => times.done('worktree made'))
    this.#close(move, OPENED)
    times.done('session opened')
    return { session, steps: times.list }
  }

  /**
   * Answers whether the session came by this move, and whether it is here at all. If it did not come, the move is
   * closed and late pieces are refused.
   */
  async #cancel({ move, session }: MoveStep & { step: 'cancel' }): Promise<unknown> {
    const { host } = this.#options
    const known = await host.store.get(session)
    // The session may have gone on to a third machine since.
    const has = known !== undefined
    if (known?.worktree === move || existsSync(join(this.#folder(move), OPENED))) return { isHere: true, has }
    const worktree = await host.worktrees.find(move)
    if (has && worktree !== undefined) {
      // This machine was killed, or its disk was full, before the last step.
      const parcel = await readParcel(this.#file(move), this.#folder(move))
      await host.moves.receive(projectOf(worktree), parcel)
      this.#close(move, OPENED)
      return { isHere: true, has }
    }
    if (worktree !== undefined) {
      // The machine that names the move may be wrong, or lie.
      if ((await host.store.list()).some(one => one.worktree === move && one.id !== session))
        throw fleetError('move-failed', 'Another session works in the worktree of that move.')
      await host.worktrees.remove(move)
      if ((await host.worktrees.find(move)) !== undefined) await host.worktrees.forget(move)
    }
    this.#close(move, CANCELLED)
    return { isHere: false, has }
  }

  /** Removes the files of a move and keeps only how it ended. */
  #close(move: string, how: typeof OPENED | typeof CANCELLED): void {
    this.#forget(move)
    writeFileSync(join(this.#folder(move), how), '', { mode: 0o600 })
  }

  #forget(move: string): void {
    rmSync(this.#folder(move), { recursive: true, force: true })
  }

  #folder(move: string): string {
    if (!MOVE.test(move)) throw fleetError('move-failed', 'The id of the move is not valid.')
    const folder = join(this.#options.folder, move)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  }

  #file(move: string): string {
    return join(this.#folder(move), 'parcel')
  }
}

/** Recognizes a full disk by its code and by git's messages. */
function isFullDisk(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, message, cause } = error as NodeJS.ErrnoException & { cause?: unknown }
  const isFull = code === 'ENOSPC' || code === 'EDQUOT'
  return isFull || /no space left on device|disk quota exceeded/i.test(message) || isFullDisk(cause)
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Size of a piece; its base64 fits into one message of the broker. */
const PIECE_BYTES = 512 * 1024
const MAX_PARCEL = 16 * 1024 * 1024 * 1024
const CANCELLED = 'cancelled'
const OPENED = 'opened'
