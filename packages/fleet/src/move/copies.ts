import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { RemoteSession } from '@chirality/centre'
import { isCodedError } from '@chirality/core'
import { z } from 'zod'
import { write } from '../engine/fleet-files.ts'
import type { Link } from '../engine/link.ts'
import { fleetError } from '../fleet-error.ts'
import type { Machine } from '../machines.ts'
import { askMove, fetchParcel } from '../rpc/calls.ts'
import type { AboutSession } from '../rpc/protocol.ts'
import { hashOf, writeAt } from './parcel-file.ts'

export interface CopiesOptions {
  /** Has one folder per machine. */
  folder: string
  link: () => Link | undefined
  machines: () => Machine[]
  sessions: () => RemoteSession[]
  limits?: Partial<CopyLimits> | undefined
  onFault?: ((error: unknown) => void) | undefined
}

interface CopyLimits {
  /** Limits per machine. */
  copies: number
  bytes: number
  /** Limit per session. */
  copyBytes: number
  /** How long a session whose copy is too large is left alone. */
  tooLargeMs: number
}

/** Facts about a copy, stored beside its parcel. */
const copyFile = z.object({
  /** The last event of the log that the copy includes. */
  seq: z.number(),
  roots: z.array(z.string()),
  prefix: z.string(),
  projectRoot: z.string(),
})

export type Copy = z.infer<typeof copyFile> & { parcel: string }

/** Clones that another machine reports; an invalid answer counts as none. */
const clonesThere = z
  .array(z.object({ commits: z.array(z.string().regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/)).max(500) }))
  .max(100)

const packed = z.object({ size: z.number().int().min(0), sha256: z.string(), seq: z.number().int().min(0) })

interface Tried {
  seq: number
  at: number
  failed: boolean
  /** Its size changes only when large files are removed or ignored, or commits reach other clones. */
  isTooLarge?: boolean
  /** Why the copy failed. */
  problem?: string
}

/**
 * Copies of the sessions of other machines, without their logs, which are mirrored. They let another machine continue
 * when one is gone. A hub fetches a copy after each turn, and every minute during a long one.
 */
export class Copies {
  readonly #options: CopiesOptions
  readonly #tried = new Map<string, Tried>()
  readonly #known = new Map<string, number>()
  readonly #clones = new Map<string, { at: number; commits: string[][] }>()
  /** Sessions that were deleted while a copy of them was being fetched. */
  readonly #forgotten = new Set<string>()
  readonly #fetching = new Set<string>()
  /** Machines that send no copies and whose stored copies were removed. */
  readonly #dropped = new Set<string>()
  /** Sessions of machines that send no copies: copies made while another machine had them are removed too. */
  readonly #freed = new Map<string, string>()
  /** Machines whose copies are being fetched or removed. */
  readonly #running = new Set<string>()
  /** Machines to leave alone until the given time, because they did not answer or their copies could not be removed. */
  readonly #paused = new Map<string, number>()
  #tidied: Promise<void> | undefined

  constructor(options: CopiesOptions) {
    this.#options = options
  }

  /** Starts the next due copy of each idle machine. Resolves when all of them ended. */
  async soon(): Promise<void> {
    this.#tidied ??= this.#tidy()
    await this.#tidied
    const silent = this.#options
      .machines()
      .flatMap(({ machine, state, copies }) => (copies || state !== 'here' ? [] : [machine]))
    const freed = silent.length === 0 ? undefined : this.#free(new Set(silent))
    const begun = silent.map(async machine => {
      await freed
      await this.#drop(machine)
    })
    for (let next = this.#due(); next !== undefined; next = this.#due()) {
      const { machine } = next
      this.#running.add(machine)
      begun.push(this.#copy(next).finally(() => this.#running.delete(machine)))
    }
    await Promise.all(begun)
  }

  /**
   * The last copy of a session. Falls back to a copy from the machine that had it before, if its owner sends copies and
   * none came yet.
   */
  async get(machine: string, session: string): Promise<Copy | undefined> {
    const own = await this.#stored(machine, session)
    if (own !== undefined) return own
    const owner = this.#options.machines().find(one => one.machine === machine)
    if (owner?.copies === false) return undefined
    const others = await readdir(this.#options.folder).catch(() => [])
    const found = await Promise.all(others.map(other => this.#stored(other, session)))
    return found.filter(copy => copy !== undefined).sort((a, b) => b.seq - a.seq)[0]
  }

  /** Why the last copy failed, since this hub runs. */
  problem(machine: string, session: string): string | undefined {
    return this.#tried.get(keyOf(machine, session))?.problem
  }

  /** True if there is a copy or one is being fetched, including the first of its machine. */
  async has(machine: string, session: string): Promise<boolean> {
    return this.#fetching.has(keyOf(machine, session)) || (await this.get(machine, session)) !== undefined
  }

  /** Removes the copies of a deleted session, including one that is being fetched. */
  async forget(session: string): Promise<void> {
    for (const key of this.#fetching) if (key.endsWith(`/${session}`)) this.#forgotten.add(key)
    for (const machine of await readdir(this.#options.folder).catch(() => [])) {
      const key = keyOf(machine, session)
      if (this.#fetching.has(key)) this.#forgotten.add(key)
      this.#known.delete(key)
      this.#tried.delete(key)
      await this.#remove(machine, session)
    }
  }

  async #stored(machine: string, session: string): Promise<Copy | undefined> {
    try {
      const said = copyFile.parse(JSON.parse(await readFile(this.#file(machine, session, 'json'), 'utf8')))
      const parcel = this.#file(machine, session, 'parcel')
      return (await stat(parcel)).isFile() ? { ...said, parcel } : undefined
    } catch {
      return undefined
    }
  }

  async #remove(machine: string, session: string): Promise<void> {
    for (const kind of ['json', 'parcel'] as const)
      await rm(this.#file(machine, session, kind), { force: true })
  }

  /**
   * Removes the copies of a machine that stopped sending them. Copies from before it had a session are another
   * machine's.
   */
  async #drop(machine: string): Promise<void> {
    if (this.#dropped.has(machine) || this.#running.has(machine)) return
    if (performance.now() < (this.#paused.get(machine) ?? 0)) return
    this.#running.add(machine)
    try {
      await rm(join(this.#options.folder, machine), { recursive: true, force: true })
      this.#dropped.add(machine)
    } catch (error) {
      this.#paused.set(machine, performance.now() + AGAIN_MS)
      this.#options.onFault?.(error)
      return
    } finally {
      this.#running.delete(machine)
    }
    for (const { session } of this.#options.sessions()) {
      const key = keyOf(machine, session.id)
      this.#known.delete(key)
      this.#tried.delete(key)
    }
  }

  /** Removes copies of sessions of machines that send none, including those from machines that had them before. */
  async #free(machines: ReadonlySet<string>): Promise<void> {
    for (const { machine, session } of this.#options.sessions()) {
      if (!machines.has(machine) || this.#freed.get(session.id) === machine) continue
      this.#freed.set(session.id, machine)
      await this.forget(session.id).catch((error: unknown) => this.#options.onFault?.(error))
    }
  }

  #due(): RemoteSession | undefined {
    if (this.#running.size >= MAX_RUNNING) return undefined
    const now = performance.now()
    const here = new Set(
      this.#options.machines().flatMap(({ machine, state, copies }) => {
        const isFree = !this.#running.has(machine) && now >= (this.#paused.get(machine) ?? 0)
        return state === 'here' && copies && isFree ? [machine] : []
      }),
    )
    const due = this.#options.sessions().filter(({ machine, session, status }) => {
      if (!here.has(machine) || session.shelf === 'archived') return false
      const seq = lastSeqOf({ session, status })
      const key = keyOf(machine, session.id)
      if (seq === 0 || (this.#known.get(key) ?? -1) >= seq) return false
      const tried = this.#tried.get(key)
      if (tried === undefined) return true
      if (tried.isTooLarge) return now - tried.at > this.#limits.tooLargeMs
      const isAtWork = status !== null && status.phase !== 'idle'
      if (tried.failed && tried.seq === seq) return now - tried.at > AGAIN_MS
      return !isAtWork || now - tried.at > AT_WORK_MS
    })
    // Idle sessions come first, because their copy is complete.
    const rank = ({ status }: RemoteSession) => (status !== null && status.phase !== 'idle' ? 1 : 0)
    return due.sort((a, b) => rank(a) - rank(b) || (a.session.updatedAt < b.session.updatedAt ? 1 : -1))[0]
  }

  async #copy(remote: RemoteSession): Promise<void> {
    const { machine, session } = remote
    const key = keyOf(machine, session.id)
    const seq = lastSeqOf(remote)
    const tried: Tried = { seq, at: performance.now(), failed: false }
    this.#dropped.delete(machine)
    this.#freed.delete(session.id)
    this.#tried.set(key, tried)
    this.#forgotten.delete(key)
    this.#fetching.add(key)
    try {
      // A copy stored by an earlier run of this hub.
      const stored = this.#known.has(key) ? undefined : await this.#stored(machine, session.id)
      if (stored !== undefined) this.#known.set(key, stored.seq)
      if ((stored?.seq ?? -1) >= seq) return
      const hasRoom = await this.#hasRoom(remote)
      this.#known.set(key, hasRoom ? await this.#fetch(machine, session.id, tried) : seq)
      if (this.#forgotten.has(key)) await this.forget(session.id)
    } catch (error) {
      if (isCodedError(error) && error.code === 'machine-silent')
        this.#paused.set(machine, performance.now() + AGAIN_MS)
      // A session outside any repository, for example; the next turn tries again.
      tried.failed = true
      tried.problem = error instanceof Error ? error.message : String(error)
      const isFault = !(error instanceof Error) || !('code' in error)
      if (isFault) this.#options.onFault?.(error)
    } finally {
      this.#fetching.delete(key)
      this.#forgotten.delete(key)
    }
  }

  /** Removes the unfinished copies of a killed hub, once, before the first fetch. */
  async #tidy(): Promise<void> {
    const { folder } = this.#options
    for (const machine of await readdir(folder).catch(() => []))
      for (const name of await readdir(join(folder, machine)).catch(() => []))
        if (ARRIVING.test(name)) await rm(join(folder, machine, name), { force: true }).catch(() => {})
  }

  async #fetch(machine: string, session: string, tried: Tried): Promise<number> {
    const link = this.#options.link()
    const ask = (step: Parameters<typeof askMove>[2]) => askMove(link, machine, step)
    const about = (await ask({ step: 'about', session })) as AboutSession
    const { roots, prefix, projectRoot } = about
    const move = `copy-${randomBytes(6).toString('hex')}`
    const target = this.#file(machine, session, 'parcel')
    const arriving = `${target}.${move}`
    await mkdir(join(target, '..'), { recursive: true, mode: 0o700 })
    try {
      const clones = await this.#commitsOfClones(machine, { roots, prefix })
      const { size, sha256, seq } = packed.parse(await ask({ step: 'copy', session, move, clones }))
      const { copyBytes } = this.#limits
      if (size > copyBytes) {
        tried.isTooLarge = true
        throw fleetError(
          'move-failed',
          `The copy has ${Math.ceil(size / MB)} MB, and only copies of up to ${copyBytes / MB} MB are kept. Large new files that git does not ignore are a part of it.`,
        )
      }
      const end = performance.now() + MAX_FETCH_MS
      for (let at = 0; at < size; ) {
        if (performance.now() > end)
          throw fleetError('machine-silent', `${machine} sends the copy of ${session} too slowly.`)
        const piece = await fetchParcel(link, machine, { move, from: at })
        if (piece.length === 0)
          throw fleetError('machine-silent', `${machine} does not send the copy of ${session}.`)
        await writeAt(arriving, piece, at)
        at += piece.length
      }
      if ((await hashOf(arriving)) !== sha256) throw new RangeError(`The copy of ${session} is damaged.`)
      await rename(arriving, target)
      const said: z.infer<typeof copyFile> = { seq, roots, prefix, projectRoot }
      await write(this.#file(machine, session, 'json'), JSON.stringify(said))
      for (const other of await readdir(this.#options.folder))
        if (other !== machine) await this.#remove(other, session)
      await this.#trim(machine)
      return seq
    } finally {
      await rm(arriving, { force: true })
      await ask({ step: 'forget', move }).catch(() => {})
    }
  }

  /** The commits that clones on other machines have, which a copy can leave out. */
  async #commitsOfClones(
    source: string,
    { roots, prefix }: { roots: string[]; prefix: string },
  ): Promise<string[][]> {
    const others = this.#options
      .machines()
      .filter(({ machine, state }) => machine !== source && state === 'here')
    const found = await Promise.all(
      others.map(async ({ machine }) => {
        const key = `${machine} ${prefix} ${roots.join(' ')}`
        const known = this.#clones.get(key)
        if (known !== undefined && performance.now() - known.at < AT_WORK_MS) return known.commits
        const step = { step: 'clones', roots, prefix } as const
        const answer = await askMove(this.#options.link(), machine, step).catch(() => [])
        // Listed for each clone, since the session may go into any of them.
        const commits = clonesThere.safeParse(answer).data?.map(clone => clone.commits) ?? []
        if (this.#clones.size > MAX_CLONES) this.#clones.clear()
        this.#clones.set(key, { at: performance.now(), commits })
        return commits
      }),
    )
    return found.flat()
  }

  /** False if a new copy would be removed at once. */
  async #hasRoom({ machine, session }: RemoteSession): Promise<boolean> {
    const { copies, bytes } = this.#limits
    const newer = (await this.#kept(machine)).filter(
      one => one.session !== session.id && one.updatedAt >= Date.parse(session.updatedAt),
    )
    const total = newer.reduce((sum, { size }) => sum + size, 0)
    return newer.length < copies && total < bytes
  }

  /**
   * Removes the copies of the longest idle sessions of a machine while all copies are too large. They stay known, so
   * each is fetched again only after its next turn.
   */
  async #trim(machine: string): Promise<void> {
    const { copies, bytes } = this.#limits
    let total = 0
    for (const [index, { session, size }] of (await this.#kept(machine)).entries()) {
      total += size
      if (index > 0 && (total > bytes || index >= copies)) await this.#remove(machine, session)
    }
  }

  /** The copies on the disk, most recently used session first; sessions that the machine no longer has come last. */
  async #kept(machine: string): Promise<{ session: string; size: number; updatedAt: number }[]> {
    const folder = join(this.#options.folder, machine)
    const used = new Map(
      this.#options
        .sessions()
        .flatMap(one =>
          one.machine === machine ? [[one.session.id, Date.parse(one.session.updatedAt)] as const] : [],
        ),
    )
    const names = (await readdir(folder).catch(() => [])).filter(name => name.endsWith('.parcel'))
    const kept = await Promise.all(
      names.map(async name => {
        const session = name.slice(0, -'.parcel'.length)
        const facts = await stat(join(folder, name)).catch(() => undefined)
        return { session, size: facts?.size ?? 0, updatedAt: used.get(session) ?? 0 }
      }),
    )
    return kept.sort((a, b) => b.updatedAt - a.updatedAt)
  }

  get #limits(): CopyLimits {
    return { ...LIMITS, ...this.#options.limits }
  }

  #file(machine: string, session: string, kind: 'json' | 'parcel'): string {
    return join(this.#options.folder, machine, `${session}.${kind}`)
  }
}

/** Name of a parcel that is being fetched. */
const ARRIVING = /\.parcel\.copy-[0-9a-f]{12}$/

function keyOf(machine: string, session: string): string {
  return `${machine}/${session}`
}

function lastSeqOf({ session, status }: Pick<RemoteSession, 'session' | 'status'>): number {
  return Math.max(session.lastSeq, status?.lastSeq ?? 0)
}

const AT_WORK_MS = 60_000
const AGAIN_MS = 300_000
const MB = 1024 * 1024
const LIMITS: CopyLimits = { copies: 1_000, bytes: 8 * 1024 * MB, copyBytes: 512 * MB, tooLargeMs: 3_600_000 }
const MAX_CLONES = 1_000
/** Number of machines to fetch from at once. */
const MAX_RUNNING = 8
const MAX_FETCH_MS = 600_000
