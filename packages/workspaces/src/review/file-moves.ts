import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { findByMarker, MARKER_VARIABLE } from '@chirality/runner'
import { type GitRepository, git } from '../git/git.ts'
import { workspaceError } from '../workspace-error.ts'
import { blobId, DiskFiles, shownName, type TreeFile } from './disk-files.ts'
import { readBlobs } from './raw-trees.ts'

/** Why files were changed, and for `back` the turn and the session that goes on from before it. */
export type MoveCause =
  | { kind: 'discard' }
  | { kind: 'fork' }
  | { kind: 'back'; turnId: string; sessionId: string }

/** Files that were taken back, and can be brought back. */
export interface FileMove {
  id: string
  cause: MoveCause
  /** What was done, in one line. */
  what: string
  at: string
  /** `undone`: the files were brought back. It can be done again. */
  state: 'done' | 'undone'
  files: string[]
}

export interface NewMove {
  /** Trees with the bytes of the disk: of the files as they are, and as they shall be. */
  from: string
  to: string
  what: string
  cause: MoveCause
}

/** What a move still needs besides its files, such as the conversation. `direction` is `undo` if they are brought back. */
export type Settle = (begun: { cause: MoveCause; direction: 'do' | 'undo' }) => Promise<void>

/**
 * Changes files of a work tree in a way that loses nothing. Before the first file is touched, `refs/chirality/moves/…`
 * names a commit with the files as they shall be, whose parent has them as they are. A process that is killed half-way
 * leaves `refs/chirality/moving/…`, and `recover()` finishes the work. A move that fails is taken back, and if that fails
 * too, it is finished before the next one. A file whose content is not the expected one is never overwritten.
 */
export class FileMoves {
  readonly #repository: GitRepository
  readonly #disk: DiskFiles
  readonly #scope: string
  readonly #settle: Settle

  /**
   * `scope` is the id of the session. One caller at a time for each scope. `settle` is called after the files of a move
   * are written, and may be called again for the same move after a kill.
   */
  constructor(repository: GitRepository, scope: string, settle: Settle = async () => {}) {
    this.#repository = forScope(repository, scope)
    this.#disk = new DiskFiles(repository)
    this.#scope = scope
    this.#settle = settle
  }

  async move({ from, to, what, cause }: NewMove): Promise<FileMove> {
    await this.#finishLast()
    const files = await this.#differing(from, to)
    await this.#requireOnDisk(files)
    const head = await this.#resolve('HEAD')
    const before = await this.#commit(from, head, `Before: ${what}`)
    const after = await this.#commit(to, before, `${what}\n\n${JSON.stringify(cause)}\n`)
    const id = `${Date.now().toString(36)}-${randomBytes(3).toString('hex')}`
    await this.#refs([`create ${this.#doneRef(id)} ${after}`, `create ${this.#movingRef} ${after}`])
    await this.#perform(files, { cause, direction: 'do' }, [`delete ${this.#doneRef(id)} ${after}`])
    // The files are moved all the same.
    await this.#trim().catch(() => {})
    return this.#get(id)
  }

  /** Brings the files back as they were before. Refused if one of them changed since. */
  undo(id: string): Promise<FileMove> {
    return this.#turn(id, 'done')
  }

  redo(id: string): Promise<FileMove> {
    return this.#turn(id, 'undone')
  }

  /** Newest first. */
  async list(): Promise<FileMove[]> {
    const format =
      '--format=%(refname)%00%(contents:subject)%00%(creatordate:iso-strict)%00%(contents:body)%1e'
    const listed = await git(this.#repository, [
      'for-each-ref',
      format,
      this.#doneRef(''),
      this.#undoneRef(''),
    ])
    const rows = listed
      .toString('utf8')
      .split('\x1e')
      .flatMap(row => {
        const [ref = '', what = '', at = '', body = ''] = row.trimStart().split('\0')
        const [state, , id] = ref.replace('refs/chirality/', '').split('/')
        return id === undefined
          ? []
          : [{ id, what, at, cause: causeIn(body), state: state === 'moves' ? 'done' : 'undone' } as const]
      })
    const moves = await Promise.all(
      rows.map(async row => {
        const ref = row.state === 'done' ? this.#doneRef(row.id) : this.#undoneRef(row.id)
        const files = await this.#differing(`${ref}^^{tree}`, `${ref}^{tree}`)
        return { ...row, files: files.map(({ name }) => shownName(name)) }
      }),
    )
    return moves.sort((a, b) => (a.id < b.id ? 1 : -1))
  }

  /** Finishes what a killed process began. Resolves with the files that somebody else changed meanwhile. */
  async recover(): Promise<string[]> {
    while ((await findByMarker(markerOf(this.#scope))).length > 0) await setTimeout(50)
    const moving = await this.#resolve(this.#movingRef)
    if (moving === undefined) return []
    const files = await this.#differing(`${moving}^^{tree}`, `${moving}^{tree}`)
    for (const { name } of files) await this.#disk.clean(name)
    const left = await this.#carryOut(files)
    const message = text(await git(this.#repository, ['show', '-s', '--format=%B', moving]))
    const direction = message.startsWith(BROUGHT_BACK) ? 'undo' : 'do'
    await this.#settle({ cause: causeIn(message), direction })
    await this.#refs([`delete ${this.#movingRef}`])
    return left
  }

  /** A move of this process that failed half-way, and could not be taken back then. */
  async #finishLast(): Promise<void> {
    if ((await this.#resolve(this.#movingRef)) === undefined) return
    await this.recover().catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      throw workspaceError(
        'review-refused',
        `The last change of files here is half done and cannot be finished: ${why} To give it up: git update-ref -d ${this.#movingRef}`,
        error,
      )
    })
  }

  /** All of it or nothing: if it fails, the files become as they were, and `giveUp` undoes the refs. */
  async #perform(files: Differing[], begun: Parameters<Settle>[0], giveUp: string[]): Promise<void> {
    try {
      await this.#carryOut(files)
      await this.#settle(begun)
    } catch (error) {
      try {
        await this.#carryOut(files.map(({ name, from, to }) => ({ name, from: to, to: from })))
        await this.#refs([`delete ${this.#movingRef}`, ...giveUp])
      } catch {
        // The next move finishes this one first.
      }
      throw error
    }
    await this.#refs([`delete ${this.#movingRef}`])
  }

  async #turn(id: string, state: FileMove['state']): Promise<FileMove> {
    await this.#finishLast()
    const [ref, other] =
      state === 'done' ? [this.#doneRef(id), this.#undoneRef(id)] : [this.#undoneRef(id), this.#doneRef(id)]
    const commit = ID.test(id) ? await this.#resolve(ref) : undefined
    if (commit === undefined)
      throw workspaceError(
        'review-missing',
        `There is nothing to ${state === 'done' ? 'undo' : 'do again'}: ${id}`,
      )
    const after = `${commit}^{tree}`
    const before = `${commit}^^{tree}`
    const [from, to] = state === 'done' ? [after, before] : [before, after]
    const files = await this.#differing(from, to)
    await this.#requireOnDisk(files)
    // The ref of a move that goes back needs a commit whose parent has the files as they are now.
    const { cause } = await this.#get(id)
    const message = `${BROUGHT_BACK}\n\n${JSON.stringify(cause)}\n`
    const moving = state === 'done' ? await this.#commit(to, commit, message) : commit
    await this.#refs([
      `create ${this.#movingRef} ${moving}`,
      `create ${other} ${commit}`,
      `delete ${ref} ${commit}`,
    ])
    const direction = state === 'done' ? 'undo' : 'do'
    await this.#perform(files, { cause, direction }, [`create ${ref} ${commit}`, `delete ${other} ${commit}`])
    return this.#get(id)
  }

  async #get(id: string): Promise<FileMove> {
    const found = (await this.list()).find(move => move.id === id)
    if (found === undefined) throw workspaceError('review-missing', `There is no such change: ${id}`)
    return found
  }

  /** Only files that are still as they were are written; the names of the others are returned. */
  async #carryOut(files: Differing[]): Promise<string[]> {
    const left: string[] = []
    // A file may take the place of a folder, and a folder that of a file.
    const ordered = [...files.filter(({ to }) => to === null), ...files.filter(({ to }) => to !== null)]
    for (let i = 0; i < ordered.length; i += BATCH) {
      const batch = ordered.slice(i, i + BATCH)
      const contents = await readBlobs(
        this.#repository,
        batch.flatMap(({ to }) => (to === null ? [] : [to.id])),
      )
      for (const { name, from, to } of batch) {
        if (await this.#isOnDisk(name, to)) continue
        if (!(await this.#isOnDisk(name, from))) {
          left.push(shownName(name))
          continue
        }
        const content = to === null ? undefined : contents.get(to.id)
        if (to !== null && content === undefined)
          throw workspaceError('git-failed', `The object ${to.id} is missing.`)
        await this.#disk.write(
          name,
          to === null || content === undefined ? undefined : { mode: diskMode(to.mode), content },
        )
      }
    }
    return left
  }

  async #requireOnDisk(files: Differing[]): Promise<void> {
    const changed: string[] = []
    for (const { name, from } of files) if (!(await this.#isOnDisk(name, from))) changed.push(shownName(name))
    if (changed.length === 0) return this.#requireRoom(files)
    throw workspaceError(
      'review-refused',
      `${listOf(changed)} changed since. Nothing was touched; what it would have become is kept.`,
    )
  }

  /** A file became a folder, or a folder a file, and that is not taken back with it. */
  async #requireRoom(files: Differing[]): Promise<void> {
    const leaving = new Set(files.flatMap(({ name, to }) => (to === null ? [name] : [])))
    for (const { name, to } of files) {
      const way = to === null ? undefined : await this.#disk.inTheWay(name, leaving)
      if (way === undefined) continue
      const what = name.startsWith(`${way}/`)
        ? `${shownName(way)} is a file now`
        : `it is a folder now, with ${shownName(way)} in it`
      throw workspaceError(
        'review-refused',
        `${shownName(name)} cannot be written: ${what}. Discard or move that first. Nothing was changed.`,
      )
    }
  }

  async #isOnDisk(name: string, expected: TreeFile | null): Promise<boolean> {
    const file = await this.#disk.read(name)
    if (file === undefined || expected === null) return file === undefined && expected === null
    return file.mode === expected.mode && blobId(file.content, expected.id) === expected.id
  }

  async #differing(from: string, to: string): Promise<Differing[]> {
    const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--full-index', '--no-abbrev', from, to]
    const output = await git(this.#repository, args, { maxBytes: MAX_LIST_BYTES })
    return parseRaw(output.toString('latin1'))
  }

  async #commit(tree: string, parent: string | undefined, message: string): Promise<string> {
    const args = ['commit-tree', tree, ...(parent === undefined ? [] : ['-p', parent]), '-F', '-']
    return text(await git(this.#repository, args, { env: IDENTITY, input: message }))
  }

  async #resolve(name: string): Promise<string | undefined> {
    const args = ['rev-parse', '--verify', '--quiet', `${name}^{commit}`]
    return text(await git(this.#repository, args, { okCodes: [0, 1, 128] })) || undefined
  }

  /** All of them or none. */
  async #refs(lines: string[]): Promise<void> {
    await git(this.#repository, ['update-ref', '--stdin'], {
      input: ['start', ...lines, 'prepare', 'commit', ''].join('\n'),
    })
  }

  /** The oldest are given up. What was brought back since is on the disk. */
  async #trim(): Promise<void> {
    const old = (await this.list()).slice(MAX_MOVES)
    if (old.length === 0) return
    await this.#refs(
      old.map(({ id, state }) => `delete ${state === 'done' ? this.#doneRef(id) : this.#undoneRef(id)}`),
    )
  }

  #doneRef(id: string): string {
    return `refs/chirality/moves/${this.#scope}/${id}`
  }

  #undoneRef(id: string): string {
    return `refs/chirality/unmoved/${this.#scope}/${id}`
  }

  get #movingRef(): string {
    return `${MOVING}${this.#scope}`
  }
}

/** The scopes of moves that were begun and not finished, in all work trees of a repository. */
export async function unfinishedMoves(repository: GitRepository): Promise<string[]> {
  const listed = await git(repository, ['for-each-ref', '--format=%(refname)', MOVING])
  return listed
    .toString('utf8')
    .split('\n')
    .flatMap(ref => (ref.startsWith(MOVING) ? [ref.slice(MOVING.length)] : []))
}

const MOVING = 'refs/chirality/moving/'
const BROUGHT_BACK = 'Brought back'

/** The last line of the message of a move. One of an earlier version has none, and was a discard in all cases but few. */
function causeIn(message: string): MoveCause {
  try {
    const { kind, turnId, sessionId }: Partial<Record<string, unknown>> = JSON.parse(
      message.trim().split('\n').at(-1) ?? '',
    )
    if (kind === 'fork') return { kind }
    if (kind === 'back' && typeof turnId === 'string' && typeof sessionId === 'string')
      return { kind, turnId, sessionId }
  } catch {
    // No such line.
  }
  return { kind: 'discard' }
}

/** So that a git that outlives its server is found by `recover()`, and waited for. */
export function forScope(repository: GitRepository, scope: string): GitRepository {
  return { ...repository, env: { ...repository.env, [MARKER_VARIABLE]: markerOf(scope) } }
}

function markerOf(scope: string): string {
  return `moving-${scope}`
}

export interface Differing {
  name: string
  from: TreeFile | null
  to: TreeFile | null
}

/** The output of `diff-tree -r -z --raw --no-renames`, read as `latin1`. */
export function parseRaw(output: string): Differing[] {
  const words = output.split('\0')
  const files: Differing[] = []
  for (let i = 0; i + 1 < words.length; i += 2) {
    const [, oldMode = '', newMode = '', oldId = '', newId = ''] =
      /^:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) /.exec(words[i] ?? '') ?? []
    files.push({ name: words[i + 1] ?? '', from: treeFile(oldMode, oldId), to: treeFile(newMode, newId) })
  }
  return files
}

/** A few names, and how many more there are. */
export function listOf(names: readonly string[]): string {
  const rest = names.length - SHOWN_NAMES
  return rest > 0 ? `${names.slice(0, SHOWN_NAMES).join(', ')} and ${rest} more` : names.join(', ')
}

const SHOWN_NAMES = 5
const ID = /^[0-9a-z]+-[0-9a-f]+$/
const BATCH = 100
/** For each session. */
const MAX_MOVES = 200
const MAX_LIST_BYTES = 256 * 1024 * 1024

/** These commits are Chirality's, not the user's. */
export const IDENTITY = {
  GIT_AUTHOR_NAME: 'Chirality',
  GIT_AUTHOR_EMAIL: 'chirality@localhost',
  GIT_COMMITTER_NAME: 'Chirality',
  GIT_COMMITTER_EMAIL: 'chirality@localhost',
}

function treeFile(mode: string, id: string): TreeFile | null {
  return /^0+$/.test(mode) ? null : { mode, id }
}

function diskMode(mode: string): '100644' | '100755' | '120000' {
  if (mode === '100644' || mode === '100755' || mode === '120000') return mode
  throw workspaceError('review-refused', 'A repository inside the work folder cannot be changed here.')
}

function text(output: Buffer): string {
  return output.toString('utf8').trim()
}
