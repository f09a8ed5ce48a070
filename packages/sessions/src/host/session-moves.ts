import { join } from 'node:path'
import { keepOrphan } from '@chirality/workspaces'
import { told } from '../log/turn-events.ts'
import { startError } from '../session-errors.ts'
import { noteDeleted } from '../store/project-state.ts'
import type { StoredSession } from '../store/stored-session.ts'
import type { HostContext } from '../turns/host-context.ts'
import { isRefusal, type Move, type Orphan } from '../turns/leaving-sessions.ts'
import { type PackOptions, type Parcel, packSession, receiveSession } from './carry-session.ts'
import type { HostedSession } from './hosted-session.ts'

export interface SessionMovesParts {
  /** Ends what runs of a session, and closes it. */
  stop: (id: string) => Promise<void>
  session: (id: string) => Promise<HostedSession>
  /** Undefined if it is not open. */
  open: (id: string) => HostedSession | undefined
  /** Opens a project. */
  project: (root: string) => Promise<string>
  /** Does the work while nobody else changes the files of the folder: a commit could be half in the parcel. */
  hold: <T>(folder: string, work: () => Promise<T>) => Promise<T>
}

/** What a session had cost when another machine took it over. */
export interface Spent {
  usd: number
  tokens: number
}

/** Sessions on their way from and to other machines. */
export class SessionMoves {
  readonly #context: HostContext
  readonly #parts: SessionMovesParts
  #requireKept: (id: string) => void = () => {}

  constructor(context: HostContext, parts: SessionMovesParts) {
    this.#context = context
    this.#parts = parts
  }

  /** Throws for a session that its user deleted and can still restore: on another machine it would stay for ever. */
  keptWith(requireKept: (id: string) => void): void {
    this.#requireKept = requireKept
  }

  /** See `keptWith`. */
  requireKept(id: string): void {
    this.#requireKept(id)
  }

  /** The move that a session waits for. */
  leaving(id: string): Move | undefined {
    return this.#context.leaving.get(id)
  }

  /** Throws if a session waits for a move: what is done to its files then is not in the parcel. */
  requireStaying(id: string): void {
    this.#context.leaving.require(id)
  }

  /**
   * Ends the agents of an idle session and packs it for another machine, after what a person does to its files just now.
   * From then on no turn of it begins here, until `leave` or `keep`. A session that was packed before is packed again for the same move.
   */
  async pack(id: string, options: PackOptions): Promise<Parcel> {
    const { leaving, store } = this.#context
    const busy = () =>
      startError('busy', 'A turn of this session runs. Stop it or wait for its end, then move it.')
    const session = await this.#parts.session(id)
    if (session.status.phase !== 'idle') throw busy()
    // Not before the session is open: another hub may ask for another move at the same time.
    const before = leaving.get(id)
    if (before !== undefined && isRefusal(before))
      throw startError('busy', `The machine ${before.to} took this session over. Move it from there.`)
    if (before !== undefined && before.to !== options.move.to)
      throw startError('busy', `This session is being moved to the machine ${before.to} already.`)
    const move = before ?? options.move
    this.#requireKept(id)
    leaving.set(id, move)
    try {
      const { projectRoot, worktree } = session.status
      return await this.#parts.hold(worktree?.folder ?? projectRoot, async () => {
        // It may have waited for the folder for long.
        options.signal?.throwIfAborted()
        if (leaving.get(id)?.id !== move.id)
          throw startError('busy', 'This move was given up. Move the session again.')
        if (session.status.phase !== 'idle') throw busy()
        await this.#parts.stop(id)
        return packSession(this.#context, await store.resume(id), { ...options, move })
      })
    } catch (error) {
      // Another machine may have got what was packed before.
      if (before === undefined) this.keep(id, move.id)
      throw error
    }
  }

  /** Packs a copy for the case that this machine is gone one day. The session goes on meanwhile. */
  async copy(id: string, options: PackOptions): Promise<Parcel & { cut: { seq: number } }> {
    const { store } = this.#context
    // Read before its files are: what is done meanwhile counts as missing.
    const session = this.#parts.open(id)?.stored ?? (await store.resume(id))
    const parcel = await packSession(this.#context, session, options)
    return { ...parcel, cut: { seq: session.lastSeq } }
  }

  /** Makes the session of a parcel in one of this machine's projects. The same parcel makes one session. */
  async receive(projectRoot: string, parcel: Parcel, onWorktree?: () => void): Promise<StoredSession> {
    const root = await this.#parts.project(projectRoot)
    const session = await receiveSession(this.#context, root, parcel, onWorktree)
    // A session that was moved away and comes back.
    this.#context.leaving.clear(session.id)
    await this.#parts.session(session.id)
    return session
  }

  /**
   * Another machine has the session now, by this move. Nothing of it is deleted here: see `SessionStore.leave`. A
   * worktree stays, too, because it may have files that git ignores. False if it had left already.
   */
  async leave(id: string, move: string): Promise<boolean> {
    const { leaving, store } = this.#context
    const session = await store.get(id)
    // It came back by another move meanwhile.
    if (session === undefined || session.worktree === move) return false
    if (leaving.get(id)?.id !== move)
      throw startError('busy', 'This session is not being moved by this move. Look at both machines.')
    await store.leave(id, `${id}-${move}`)
    leaving.clear(id)
    return true
  }

  /** The move is given up: its target has nothing. */
  keep(id: string, move: string): void {
    if (this.#context.leaving.get(id)?.id === move) this.#context.leaving.clear(id)
  }

  /** Another machine took the session over while this one was away: its agent ends, and no turn of it begins here. */
  async refuse(id: string, move: Move): Promise<void> {
    const { leaving, store } = this.#context
    if ((await store.get(id)) === undefined) return
    leaving.set(id, move)
    await this.#parts.stop(id)
  }

  /**
   * Gives up a session that was refused. What this machine did since then is kept, as a log and as refs, and its cost is
   * counted here. Asked again, it says the same again. Undefined if there is no such session.
   */
  async orphan(id: string, move: Move, taken: Spent & { seq: number }): Promise<Orphan | undefined> {
    const { leaving, store, worktrees } = this.#context
    const name = `${id}-${move.id}`
    const before = leaving.orphan(name)
    const session = await store.get(id)
    if (session === undefined) return before
    if (session.worktree === move.id) return undefined
    await this.refuse(id, move)
    const { projectRoot, worktree: worktreeId, updatedAt } = session
    const worktree = worktreeId === null ? undefined : await worktrees.find(worktreeId)
    const folder = worktree === undefined ? projectRoot : worktree.folder
    const keep = async () => {
      if (worktree !== undefined) await worktrees.requireOwn(worktree.id)
      return keepOrphan(folder, name)
    }
    // Its files stay where they are in any case.
    const ref = await keep().catch(() => undefined)
    // Its agent was ended just now, and had some last words.
    const { costUsd, tokens, lastSeq } = (await store.get(id)) ?? session
    const usd = Math.max(0, (costUsd ?? 0) - taken.usd)
    const more = Math.max(0, tokens - taken.tokens)
    const log = join(projectRoot, '.chirality', 'moved', `${name}.ndjson`)
    const orphan = before ?? { events: Math.max(0, lastSeq - taken.seq), usd, log, ref }
    // Written first: a machine that is killed in between counts the cost once.
    leaving.setOrphan(name, orphan)
    if (before === undefined && (usd > 0 || more > 0))
      await noteDeleted(projectRoot, { updatedAt, usd, tokens: more }).catch(() => {})
    await store.leave(id, name)
    leaving.clear(id)
    return orphan
  }

  /** Shows something in the conversation. */
  async tell(id: string, words: string): Promise<void> {
    const { log } = await this.#parts.session(id)
    log.append(told(id, words), { turnId: null, durable: true })
    await log.flush()
  }
}
