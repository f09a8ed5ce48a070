import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { findByMarker } from '@chirality/runner'
import { type GitRepository, git, OWN_IDENTITY, outputText } from '../git/git.ts'
import { areUnusual } from '../git/permissions.ts'
import { workspaceError } from '../workspace-error.ts'
import { type Differing, isSameFile } from './differing.ts'
import {
  DiskFiles,
  inSlices,
  type KnownFolders,
  listOf,
  type NewDiskFile,
  type SeenFile,
  shownName,
} from './disk-files.ts'
import { withContents } from './file-contents.ts'
import {
  BROUGHT_BACK,
  causeIn,
  commitOf,
  type MoveCause,
  moveMessage,
  type Permissions,
  permissionsIn,
} from './move-commit.ts'
import { storeObjects } from './object-pack.ts'
import { differing } from './raw-trees.ts'
import { forScope, MOVING, moveMarker } from './unfinished-moves.ts'

/** A change of files that can be undone and redone. */
export interface FileMove {
  id: string
  cause: MoveCause
  /** Description in one line. */
  what: string
  at: string
  /** `undone` means that the files were brought back, and the move can be redone. */
  state: 'done' | 'undone'
  files: string[]
  /** Files among them that somebody else changed during the move; they are left in that state. */
  left?: string[]
}

export interface NewMove {
  /** Trees with the bytes of the disk: the current files, and the wanted ones. */
  from: string
  to: string
  what: string
  cause: MoveCause
  /** Permissions of wanted files that a tree cannot store, by name. */
  permissions?: ReadonlyMap<string, number>
  /** The files as the caller found them, so that they are not read again. */
  seen?: ReadonlyMap<string, SeenFile>
  /** The differences between the trees. */
  files?: Differing[]
  /** Contents of files of `to`, by id. */
  contents?: ReadonlyMap<string, Buffer>
}

interface Performed extends Pick<NewMove, 'seen' | 'contents'> {
  noted: Permissions
  begun: Parameters<Settle>[0]
}

/**
 * Completes a move beyond its files, for example in the conversation. `direction` is `undo` when the files are brought
 * back.
 */
export type Settle = (begun: { cause: MoveCause; direction: 'do' | 'undo' }) => Promise<void>

/**
 * Changes files of a work tree without losing any. Before the first file is touched, `refs/chirality/moves/…` names a
 * commit with the wanted files, whose parent has the current ones. A process that is killed half-way leaves
 * `refs/chirality/moving/…`, and `recover()` finishes the work. A failed move is reverted, and if that fails too, it is
 * finished before the next one. A file with unexpected content is never overwritten.
 */
export class FileMoves {
  readonly #repository: GitRepository
  readonly #disk: DiskFiles
  readonly #scope: string
  readonly #settle: Settle

  /**
   * `scope` is the id of the session; only one caller at a time may use it. `settle` runs after the files of a move are
   * written, and may run again for the same move after a kill.
   */
  constructor(repository: GitRepository, scope: string, settle: Settle = async () => {}) {
    this.#repository = forScope(repository, scope)
    this.#disk = new DiskFiles(repository)
    this.#scope = scope
    this.#settle = settle
  }

  async move({
    from,
    to,
    what,
    cause,
    permissions = new Map(),
    seen: known,
    files: given,
    contents,
  }: NewMove): Promise<FileMove> {
    const head = await this.#finishLast()
    const files = given ?? (await differing(this.#repository, from, to))
    const seen = await this.#requireOnDisk(files, known)
    const noted: Permissions = { from: {}, to: Object.fromEntries(permissions) }
    for (const [name, { permissions: now }] of seen)
      if (now !== undefined && areUnusual(now)) noted.from[name] = now
    const before = commitOf(from, head, `Before: ${what}`)
    const after = commitOf(to, before.id, moveMessage(what, noted, cause))
    await storeObjects(this.#repository, [before, after])
    const id = `${Date.now().toString(36)}-${randomBytes(3).toString('hex')}`
    await this.#refs([`create ${this.#doneRef(id)} ${after.id}`, `create ${this.#movingRef} ${after.id}`])
    const left = await this.#perform(files, { noted, seen, contents, begun: { cause, direction: 'do' } }, [
      `delete ${this.#doneRef(id)} ${after.id}`,
    ])
    const all = await this.#rows([this.#doneRef(''), this.#undoneRef('')])
    // A failed trim does not undo the move.
    await this.#trim(all).catch(() => {})
    const row = all.find(one => one.id === id)
    if (row === undefined) throw missingMove(id)
    return {
      ...row,
      files: files.map(({ name }) => shownName(name)),
      left: left.length > 0 ? left : undefined,
    }
  }

  /** Brings the files back to the state before the move. Refused if one of them changed since. */
  undo(id: string): Promise<FileMove> {
    return this.#turn(id, 'done')
  }

  redo(id: string): Promise<FileMove> {
    return this.#turn(id, 'undone')
  }

  /** Lists the moves, newest first. */
  async list(): Promise<FileMove[]> {
    return this.#listed([this.#doneRef(''), this.#undoneRef('')])
  }

  async #listed(refs: string[]): Promise<FileMove[]> {
    const rows = await this.#rows(refs)
    const moves = await Promise.all(
      rows.map(async row => {
        const ref = row.state === 'done' ? this.#doneRef(row.id) : this.#undoneRef(row.id)
        const files = await differing(this.#repository, `${ref}^^{tree}`, `${ref}^{tree}`)
        return { ...row, files: files.map(({ name }) => shownName(name)) }
      }),
    )
    return moves.sort((a, b) => (a.id < b.id ? 1 : -1))
  }

  async #rows(refs: string[]): Promise<Omit<FileMove, 'files'>[]> {
    const format =
      '--format=%(refname)%00%(contents:subject)%00%(creatordate:iso-strict)%00%(contents:body)%1e'
    const listed = await git(this.#repository, ['for-each-ref', format, ...refs], {
      maxBytes: MAX_LIST_BYTES,
    })
    return listed
      .toString('utf8')
      .split('\x1e')
      .flatMap(row => {
        const [ref = '', what = '', at = '', body = ''] = row.trimStart().split('\0')
        const [state, , id] = ref.replace('refs/chirality/', '').split('/')
        return id === undefined
          ? []
          : [{ id, what, at, cause: causeIn(body), state: state === 'moves' ? 'done' : 'undone' } as const]
      })
  }

  /** Finishes the move of a killed process. Resolves with the files that somebody else changed meanwhile. */
  async recover(): Promise<string[]> {
    while ((await findByMarker(moveMarker(this.#scope))).length > 0) await setTimeout(50)
    const moving = await this.#resolve(this.#movingRef)
    if (moving === undefined) return []
    const files = await differing(this.#repository, `${moving}^^{tree}`, `${moving}^{tree}`)
    for (const { name } of files) await this.#disk.clean(name)
    const message = outputText(
      await git(this.#repository, ['show', '-s', '--format=%B', moving], { maxBytes: MAX_LIST_BYTES }),
    )
    const left = await this.#carryOut(files, permissionsIn(message).to)
    const direction = message.startsWith(BROUGHT_BACK) ? 'undo' : 'do'
    await this.#settle({ cause: causeIn(message), direction })
    await this.#refs([`delete ${this.#movingRef}`])
    return left
  }

  /** Finishes an earlier move of this process that failed and could not be reverted. Resolves with the last commit. */
  async #finishLast(): Promise<string | undefined> {
    const [moving, head] = await this.#resolveAll([this.#movingRef, 'HEAD'])
    if (moving === undefined) return head
    await this.recover().catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      throw workspaceError(
        'review-refused',
        `The last change of files here is half done and cannot be finished: ${why} To give it up: git update-ref -d ${this.#movingRef}`,
        error,
      )
    })
    return head
  }

  /**
   * Carries out a move completely or not at all: after a failure the files are reverted, and `giveUp` reverts the refs.
   * Resolves with the files that somebody else changed meanwhile.
   */
  async #perform(
    files: Differing[],
    { noted, begun, ...known }: Performed,
    giveUp: string[],
  ): Promise<string[]> {
    let left: string[]
    try {
      left = await this.#carryOut(files, noted.to, known)
      await this.#settle(begun)
    } catch (error) {
      try {
        await this.#carryOut(
          files.map(({ name, from, to }) => ({ name, from: to, to: from })),
          noted.from,
        )
        await this.#refs([`delete ${this.#movingRef}`, ...giveUp])
      } catch {
        // The next move finishes this one first.
      }
      throw error
    }
    await this.#refs([`delete ${this.#movingRef}`])
    return left
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
    const files = await differing(this.#repository, from, to)
    const seen = await this.#requireOnDisk(files)
    // The ref of an undo needs a commit whose parent has the current files.
    const { cause } = await this.#get(id)
    const stored = permissionsIn(
      outputText(
        await git(this.#repository, ['show', '-s', '--format=%B', commit], { maxBytes: MAX_LIST_BYTES }),
      ),
    )
    const noted = state === 'done' ? { from: stored.to, to: stored.from } : stored
    const message = moveMessage(BROUGHT_BACK, noted, cause)
    const moving = state === 'done' ? await this.#commit(to, commit, message) : commit
    await this.#refs([
      `create ${this.#movingRef} ${moving}`,
      `create ${other} ${commit}`,
      `delete ${ref} ${commit}`,
    ])
    const direction = state === 'done' ? 'undo' : 'do'
    const left = await this.#perform(files, { noted, seen, begun: { cause, direction } }, [
      `create ${ref} ${commit}`,
      `delete ${other} ${commit}`,
    ])
    return { ...(await this.#get(id)), left: left.length > 0 ? left : undefined }
  }

  async #get(id: string): Promise<FileMove> {
    const [found] = await this.#listed([this.#doneRef(id), this.#undoneRef(id)])
    if (found === undefined) throw missingMove(id)
    return found
  }

  /** Writes the files that are unchanged since they were seen. Returns the names of the others. */
  async #carryOut(
    files: Differing[],
    permissions: Record<string, number>,
    known: Pick<NewMove, 'seen' | 'contents'> = {},
  ): Promise<string[]> {
    const left: string[] = []
    const folders: KnownFolders = new Map()
    const seen = known.seen ?? (await this.#look(files))
    const open = files.filter(({ name, to }) => !isSameFile(seen.get(name)?.file ?? null, to))
    const write = ({ name, from }: Differing, file: NewDiskFile | undefined) => {
      const found = seen.get(name) ?? { file: null, mark: null }
      const as = file && { ...file, permissions: permissions[name] }
      if (!isSameFile(found.file, from) || !this.#disk.write(name, found, as, folders))
        left.push(shownName(name))
    }
    // Removals first: a file may take the place of a folder, and a folder that of a file.
    const removed = open.filter(({ to }) => to === null)
    await inSlices(removed, file => write(file, undefined))
    const written = open.flatMap(({ name, from, to }) => (to === null ? [] : [{ name, from, to }]))
    await withContents(this.#repository, written, { write, known: known.contents })
    return left
  }

  async #look(files: readonly Differing[]): Promise<Map<string, SeenFile>> {
    const like = files.map(({ from, to }) => from?.id ?? to?.id)[0] ?? ''
    return this.#disk.look(
      files.map(({ name }) => name),
      like,
    )
  }

  async #requireOnDisk(
    files: Differing[],
    known?: ReadonlyMap<string, SeenFile>,
  ): Promise<ReadonlyMap<string, SeenFile>> {
    const seen = known ?? (await this.#look(files))
    const changed = files
      .filter(({ name, from }) => !isSameFile(seen.get(name)?.file ?? null, from))
      .map(({ name }) => shownName(name))
    if (changed.length > 0)
      throw workspaceError(
        'review-refused',
        `${listOf(changed)} changed since. Nothing was touched, and the other version is kept.`,
      )
    await this.#requireRoom(files, seen)
    return seen
  }

  /** Refuses if a file became a folder, or a folder a file, and that change is not part of the move. */
  async #requireRoom(files: Differing[], seen: ReadonlyMap<string, SeenFile>): Promise<void> {
    const leaving = new Set(files.flatMap(({ name, to }) => (to === null ? [name] : [])))
    const folders: KnownFolders = new Map()
    for (const { name, to } of files) {
      // An existing file can always be replaced.
      if (to === null || seen.get(name)?.mark !== null) continue
      const way = await this.#disk.inTheWay(name, leaving, folders)
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

  async #resolve(name: string): Promise<string | undefined> {
    const [commit] = await this.#resolveAll([name])
    return commit
  }

  /** The commits of these names, found by one git process. */
  async #resolveAll(names: readonly string[]): Promise<(string | undefined)[]> {
    const input = names.map(name => `${name}^{commit}\n`).join('')
    const output = outputText(await git(this.#repository, ['cat-file', '--batch-check'], { input }))
    return output.split('\n').map(line => /^([0-9a-f]+) commit /.exec(line)?.[1])
  }

  async #commit(tree: string, parent: string, message: string): Promise<string> {
    const args = ['commit-tree', tree, '-p', parent, '-F', '-']
    return outputText(await git(this.#repository, args, { env: OWN_IDENTITY, input: message }))
  }

  /** Updates all refs or none. */
  async #refs(lines: string[]): Promise<void> {
    await git(this.#repository, ['update-ref', '--stdin'], {
      input: ['start', ...lines, 'prepare', 'commit', ''].join('\n'),
    })
  }

  /** Drops the oldest moves. Files brought back since are on the disk. */
  async #trim(all: Pick<FileMove, 'id' | 'state'>[]): Promise<void> {
    const old = all.toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(MAX_MOVES)
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

const ID = /^[0-9a-z]+-[0-9a-f]+$/
/** Limit per session. */
const MAX_MOVES = 200
const MAX_LIST_BYTES = 256 * 1024 * 1024

function missingMove(id: string) {
  return workspaceError('review-missing', `There is no such change: ${id}`)
}
