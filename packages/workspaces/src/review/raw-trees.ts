import { objectId, steppedTrees } from '../git/edited-tree.ts'
import { type GitRepository, git } from '../git/git.ts'
import { EMPTY_TREE } from '../git/snapshot.ts'
import { workspaceError } from '../workspace-error.ts'
import { type Differing, isSameFile, parseRaw } from './differing.ts'
import {
  DiskFiles,
  KEPT_BYTES,
  type KnownFolders,
  LARGE_BYTES,
  type SeenFile,
  shownName,
  type TreeFile,
} from './disk-files.ts'
import { type GitObject, storeObjects } from './object-pack.ts'
import { batchesBySize, readBlobs, sizesOf } from './read-objects.ts'
import { enter, withIndex } from './temporary-index.ts'

/** Files as they were found, so that they are not read twice. */
export interface FoundFiles {
  /** The files as git would store them now. */
  files: Map<string, TreeFile | null>
  /** Files that git stores byte for byte as they are on the disk. */
  seen: Map<string, SeenFile>
}

export interface RawTrees {
  from: string
  to: string
  /** The differences between the trees. */
  files: Differing[]
  /** The files as they were found, for the next writer. */
  seen: Map<string, SeenFile>
  /** Contents of wanted files, as many as fit into memory, by id. */
  contents: ReadonlyMap<string, Buffer>
}

/**
 * Builds two trees with the bytes of the disk for `FileMoves`: the given files as they are, and as wanted. Their
 * objects are in the user's repository, where a ref can keep them. `wanted` has the content as git stores it; line
 * endings and filters of the user's config are applied here. Refuses files that changed since they were `found`.
 */
export async function rawTrees(
  repository: GitRepository,
  wanted: ReadonlyMap<string, TreeFile | null>,
  { restored, found, head }: { restored: Restored; found: FoundFiles; head: string },
): Promise<RawTrees> {
  const disk = new DiskFiles(repository)
  const names = [...wanted.keys()]
  const isFound = (name: string) => found.seen.has(name)
  const looked = await disk.look(
    names.filter(name => !isFound(name)),
    head,
  )
  const seen = new Map(names.flatMap(name => entryOf(name, found.seen.get(name) ?? looked.get(name))))
  const present = new Map([...seen].map(([name, { file }]) => [name, file] as const))
  const [stored, later] = await Promise.all([
    storedOf(repository, idsOf(present.values())),
    converted(repository, wanted, { isPlain: isFound, restored }),
  ])
  const stepped = await treesOf(repository, { head, present, later })
  await disk.store(seen, { stored, besides: stepped?.objects ?? [] })
  const trees = stepped ?? (await treesOfIndex(repository, { head, present, later }))
  requireOnly(wanted, trees.files)
  const { from, to, files } = trees
  return { from, to, files, seen, contents: restored.contents }
}

interface BothTrees {
  /** The tree of the last commit. */
  head: string
  present: ReadonlyMap<string, TreeFile | null>
  later: ReadonlyMap<string, TreeFile | null>
}

/** The last commit's tree with the current files, and with the wanted ones. Undefined if that needs an index. */
async function treesOf(
  repository: GitRepository,
  { head, present, later }: BothTrees,
): Promise<(Pick<RawTrees, 'from' | 'to' | 'files'> & { objects: GitObject[] }) | undefined> {
  if (head === EMPTY_TREE) return undefined
  const request = { tree: head, steps: [present, later], options: { timeoutMs: TIMEOUT_MS } }
  const stepped = await steppedTrees(repository, request)
  const [from, to] = stepped?.ids ?? []
  if (stepped === undefined || from === undefined || to === undefined) return undefined
  const files = [...present]
    .map(([name, file]) => ({ name, from: file, to: later.get(name) ?? null }))
    .filter(file => !isSameFile(file.from, file.to))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  return { from, to, files, objects: stepped.objects.map(object => ({ ...object, type: 'tree' })) }
}

async function treesOfIndex(
  repository: GitRepository,
  { head, present, later }: BothTrees,
): Promise<Pick<RawTrees, 'from' | 'to' | 'files'>> {
  return withIndex(
    repository,
    {},
    {
      head,
      work: async options => {
        const treeOf = async () => (await git(repository, ['write-tree'], options)).toString('utf8').trim()
        await enter(repository, present, options)
        const one = await treeOf()
        await enter(repository, later, options)
        const other = await treeOf()
        return { from: one, to: other, files: await differing(repository, one, other) }
      },
    },
  )
}

function entryOf(name: string, seen: SeenFile | undefined): [string, SeenFile][] {
  return seen === undefined ? [] : [[name, seen]]
}

function idsOf(files: Iterable<TreeFile | null>): string[] {
  return [...new Set([...files].flatMap(file => (file === null ? [] : [file.id])))]
}

/**
 * The given ids that the user's repository has; none if a sample has none, because looking for a missing object takes
 * git as long as storing it.
 */
async function storedOf(
  repository: GitRepository,
  ids: readonly string[],
): Promise<ReadonlyMap<string, unknown>> {
  const every = Math.ceil(ids.length / SAMPLES)
  const samples = await sizesOf(
    repository,
    ids.filter((_, at) => at % every === 0),
    {},
  )
  return samples.size === 0 ? samples : sizesOf(repository, ids, {})
}

const SAMPLES = 50

/** Sizes and contents of objects to restore, read before it is known which are needed. */
export interface Restored {
  /** Sizes of all found objects, in the user's repository or in the snapshots. */
  sizes: ReadonlyMap<string, number>
  /** Contents by id, as many as fit into memory. */
  contents: ReadonlyMap<string, Buffer>
  /** Objects that are only in the snapshots. */
  kept: ReadonlyMap<string, number>
  objects: Record<string, string>
}

export async function restorable(
  repository: GitRepository,
  files: Iterable<TreeFile | null>,
  objects: Record<string, string>,
): Promise<Restored> {
  const ids = idsOf(files)
  const stored = await sizesOf(repository, ids, {})
  const missing = ids.filter(id => !stored.has(id))
  const kept = await sizesOf(repository, missing, objects)
  const sizes = new Map([...stored, ...kept])
  return { sizes, contents: await firstContents(repository, { sizes, objects }), kept, objects }
}

/** The files that differ between two trees. */
export async function differing(repository: GitRepository, from: string, to: string): Promise<Differing[]> {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--full-index', '--no-abbrev', from, to]
  const output = await git(repository, args, { maxBytes: MAX_LIST_BYTES, timeoutMs: TIMEOUT_MS })
  return parseRaw(output.toString('latin1'))
}

/**
 * Refuses trees that differ in other files: a tree cannot have both a file and a folder of one name, so an entered file
 * may have displaced one that has to stay.
 */
function requireOnly(wanted: ReadonlyMap<string, TreeFile | null>, files: readonly Differing[]): void {
  const names = files.map(({ name }) => name)
  const pushedOut = names.find(name => !wanted.has(name))
  if (pushedOut === undefined) return
  const isNested = (a: string, b: string) => a.startsWith(`${b}/`) || b.startsWith(`${a}/`)
  const entered = names.find(name => wanted.has(name) && isNested(name, pushedOut)) ?? pushedOut
  throw workspaceError(
    'review-refused',
    `${shownName(entered)} cannot be written: ${shownName(pushedOut)} is in its place and would be lost. Take back ${shownName(pushedOut)} too, or move it first. Nothing was changed.`,
  )
}

/** The files as a check-out would write them. Their contents are stored in the user's repository. */
async function converted(
  repository: GitRepository,
  wanted: ReadonlyMap<string, TreeFile | null>,
  { isPlain, restored }: { isPlain: (name: string) => boolean; restored: Restored },
): Promise<Map<string, TreeFile | null>> {
  const files = [...wanted].flatMap(([name, file]) => (file === null ? [] : [{ name, ...file }]))
  const odd = files.find(({ mode }) => mode !== '100644' && mode !== '100755' && mode !== '120000')
  if (odd !== undefined)
    throw workspaceError(
      'review-refused',
      `${shownName(odd.name)} is a repository of its own. Nothing was changed.`,
    )
  requireKept(files, restored)
  await bringObjects(repository, new Set(files.map(({ id }) => id)), restored)
  const later = new Map(wanted)
  for (const { name, mode, id } of files) {
    if (mode === '120000' || isPlain(name)) continue
    const filters = ['cat-file', '--filters', `--path=${shownName(name)}`, id]
    const content = await git(repository, filters, {
      env: restored.objects,
      maxBytes: MAX_BLOB_BYTES,
      timeoutMs: TIMEOUT_MS,
    })
    const args = ['hash-object', '-w', '--no-filters', '--stdin']
    const stored = await git(repository, args, { input: content, timeoutMs: TIMEOUT_MS })
    later.set(name, { mode, id: stored.toString('latin1').trim() })
  }
  return later
}

/** Contents that may be the note of a large file, and as many others as fit into memory. */
async function firstContents(
  repository: GitRepository,
  { sizes, objects }: Pick<Restored, 'sizes' | 'objects'>,
): Promise<Map<string, Buffer>> {
  let room = KEPT_BYTES
  const read: string[] = []
  for (const [id, size] of sizes) {
    if (size >= MAX_NOTE_BYTES && size > room) continue
    room -= size
    read.push(id)
  }
  return readBlobs(repository, read, objects)
}

/** Throws if the content of a file is gone, or was too large to be stored. */
function requireKept(files: readonly { name: string; id: string }[], { sizes, contents }: Restored): void {
  const lost = files.find(({ id }) => {
    const content = contents.get(id)
    return !sizes.has(id) || (content !== undefined && isNoteOfLargeFile(content))
  })
  if (lost !== undefined)
    throw workspaceError(
      'review-refused',
      `${shownName(lost.name)} was too large to be kept as it was, so it cannot be brought back. Nothing was changed.`,
    )
}

/** Copies wanted objects that are only in the snapshots into the user's repository. */
async function bringObjects(
  repository: GitRepository,
  wanted: ReadonlySet<string>,
  { kept, contents, objects }: Restored,
): Promise<void> {
  const missing = [...kept].filter(([id]) => wanted.has(id))
  for (const batch of batchesBySize(missing.filter(([, size]) => size <= LARGE_BYTES))) {
    const unknown = batch.filter(id => !contents.has(id))
    const read = await readBlobs(repository, unknown, objects)
    const blobs = batch.map(id => {
      const content = contents.get(id) ?? read.get(id)
      if (content === undefined || objectId('blob', content, id) !== id)
        throw workspaceError('git-failed', `The object ${id} is missing or damaged. Nothing was changed.`)
      return { id, content }
    })
    await storeObjects(repository, blobs)
  }
  for (const [id] of missing.filter(([, size]) => size > LARGE_BYTES)) {
    const args = ['pack-objects', '--stdout', '--quiet', '--window=0', '--compression=1']
    const pack = await git(repository, args, {
      env: objects,
      input: `${id}\n`,
      maxBytes: MAX_BLOB_BYTES,
      timeoutMs: TIMEOUT_MS,
    })
    await git(repository, ['unpack-objects', '-q'], { input: pack, timeoutMs: TIMEOUT_MS })
  }
}

/** Files that git stores without conversion. That is most of them, and they need no git process each. */
export async function withoutConversion(
  repository: GitRepository,
  names: readonly string[],
): Promise<Set<string>> {
  const input = Buffer.from(names.map(name => `${name}\0`).join(''), 'latin1')
  const [asked, output] = await Promise.all([
    git(repository, ['config', '--get', 'core.autocrlf'], { okCodes: [0, 1] }),
    // Lists only attributes that are set; most files have none.
    git(repository, ['check-attr', '-z', '--stdin', '--all'], { input, maxBytes: MAX_BLOB_BYTES }),
  ])
  if (!['', 'false'].includes(asked.toString('utf8').trim())) return new Set()
  const plain = new Set(names)
  const words = output.toString('latin1').split('\0')
  for (let i = 0; i + 2 < words.length; i += 3)
    if (CONVERTING.has(words[i + 1] ?? '') && words[i + 2] !== 'unset') plain.delete(words[i] ?? '')
  return plain
}

const CONVERTING = new Set(['text', 'eol', 'filter', 'ident', 'working-tree-encoding', 'crlf'])

/** True for the line that a snapshot has instead of a large file that git lacks. */
function isNoteOfLargeFile(content: Buffer): boolean {
  return (
    content.length < MAX_NOTE_BYTES &&
    /^Not kept: \d+ bytes, more than \d+\. Last changed .*\.\n$/.test(content.toString('utf8'))
  )
}

const MAX_NOTE_BYTES = 200

/**
 * The files as git would store them now. Files without conversion are only hashed, unless `stores` asks for their
 * contents among the objects of `env`.
 */
export async function findOnDisk(
  repository: GitRepository,
  names: readonly string[],
  { env, head, stores = false }: { env: Record<string, string>; head: string; stores?: boolean },
): Promise<FoundFiles> {
  const disk = new DiskFiles(repository)
  const folders: KnownFolders = new Map()
  const asStored = await withoutConversion(repository, names)
  const seen = await disk.look([...asStored], head)
  const found = new Map(stores ? [] : [...seen].map(([name, { file }]) => [name, file] as const))
  const isOther = (name: string) =>
    stores || !asStored.has(name) || (seen.get(name)?.file === null && disk.has(name, folders))
  const others = names.filter(isOther)
  if (others.length === 0) return { files: found, seen }
  const present = new Set(others.filter(name => disk.has(name, folders)))
  return withIndex(repository, env, {
    head,
    work: async options => {
      const input = Buffer.from([...present].map(name => `${name}\0`).join(''), 'latin1')
      await git(repository, ['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], {
        ...options,
        input,
      })
      const listed = await git(repository, ['ls-files', '--stage', '-z'], {
        ...options,
        maxBytes: MAX_BLOB_BYTES,
      })
      const entries = new Map<string, TreeFile>()
      for (const entry of listed.toString('latin1').split('\0')) {
        const [, mode, id, name] = /^(\d+) ([0-9a-f]+) \d\t(.+)$/s.exec(entry) ?? []
        if (mode && id && name) entries.set(name, { mode, id })
      }
      for (const name of others) found.set(name, (present.has(name) && entries.get(name)) || null)
      return { files: found, seen }
    },
  })
}

const TIMEOUT_MS = 5 * 60_000
const MAX_LIST_BYTES = 256 * 1024 * 1024
const MAX_BLOB_BYTES = 1024 * 1024 * 1024
