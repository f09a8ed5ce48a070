import { objectId, steppedTrees } from '../git/edited-tree.ts'
import { type GitRepository, git } from '../git/git.ts'
import { EMPTY_TREE } from '../git/snapshot.ts'
import { workspaceError } from '../workspace-error.ts'
import { type Differing, isSame, parseRaw } from './differing.ts'
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
import { batchesOf, readBlobs, sizesOf } from './read-objects.ts'
import { enter, withIndex } from './temporary-index.ts'

/** Files as they were found, so that they are not read twice. */
export interface FoundFiles {
  /** As git would store them now. */
  files: Map<string, TreeFile | null>
  /** Those that git stores byte for byte, as they are on the disk. */
  seen: Map<string, SeenFile>
}

export interface RawTrees {
  from: string
  to: string
  /** In what they differ. */
  files: Differing[]
  /** The files as they were found, for who writes them next. */
  seen: Map<string, SeenFile>
  /** Of as many of the files as they shall be as may be in memory, by their ids. */
  contents: ReadonlyMap<string, Buffer>
}

/**
 * Two trees with the bytes of the disk, which `FileMoves` takes: the given files as they are, and as they shall be.
 * Their objects are in the user's repository, where a ref can keep them. `wanted` has the content as git stores it:
 * line endings and filters of the user's own config are applied here. What changed since it was `found` is refused.
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

/** The tree of the last commit with these files as they are, and as they shall be. Undefined if that takes an index. */
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
    .filter(file => !isSame(file.from, file.to))
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
 * Which of these the user's repository has: none if it has none of some of them. It takes git as long to look for one
 * that it has not as to store it.
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

/** What the files have as git stores them, before it is known whether all of it is wanted. */
export interface Restored {
  /** Of what is there: in the user's repository or in the snapshots. */
  sizes: ReadonlyMap<string, number>
  /** Of as much as may be in memory, by the ids. */
  contents: ReadonlyMap<string, Buffer>
  /** What is only in the snapshots. */
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

/** The files of which two trees have different versions. */
export async function differing(repository: GitRepository, from: string, to: string): Promise<Differing[]> {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--full-index', '--no-abbrev', from, to]
  const output = await git(repository, args, { maxBytes: MAX_LIST_BYTES, timeoutMs: TIMEOUT_MS })
  return parseRaw(output.toString('latin1'))
}

/** A file cannot be in a tree together with a folder of its name: what was entered may have pushed out what shall stay. */
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

/** The files as a check-out would write them, with their contents in the user's repository. */
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
      ...{ env: restored.objects, maxBytes: MAX_BLOB_BYTES, timeoutMs: TIMEOUT_MS },
    })
    const args = ['hash-object', '-w', '--no-filters', '--stdin']
    const stored = await git(repository, args, { input: content, timeoutMs: TIMEOUT_MS })
    later.set(name, { mode, id: stored.toString('latin1').trim() })
  }
  return later
}

/** The contents of all that may be a note of a large file, and of as many others as may be in memory. */
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

/** Throws for a file whose content is gone, or was too large to be kept. */
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

/** Copies what is wanted and only in the snapshots into the user's repository. */
async function bringObjects(
  repository: GitRepository,
  wanted: ReadonlySet<string>,
  { kept, contents, objects }: Restored,
): Promise<void> {
  const missing = [...kept].filter(([id]) => wanted.has(id))
  for (const batch of batchesOf(missing.filter(([, size]) => size <= LARGE_BYTES))) {
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
      ...{ env: objects, input: `${id}\n`, maxBytes: MAX_BLOB_BYTES, timeoutMs: TIMEOUT_MS },
    })
    await git(repository, ['unpack-objects', '-q'], { input: pack, timeoutMs: TIMEOUT_MS })
  }
}

/** Files whose line endings and content git leaves as they are: most of them, and they need no git each. */
export async function withoutConversion(
  repository: GitRepository,
  names: readonly string[],
): Promise<Set<string>> {
  const input = Buffer.from(names.map(name => `${name}\0`).join(''), 'latin1')
  const [asked, output] = await Promise.all([
    git(repository, ['config', '--get', 'core.autocrlf'], { okCodes: [0, 1] }),
    // Only those that a file has: most have none.
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

/** A snapshot has this line instead of a large file that git does not have. */
function isNoteOfLargeFile(content: Buffer): boolean {
  return (
    content.length < MAX_NOTE_BYTES &&
    /^Not kept: \d+ bytes, more than \d+\. Last changed .*\.\n$/.test(content.toString('utf8'))
  )
}

const MAX_NOTE_BYTES = 200

/**
 * The files as git would store them now. Those that it stores byte for byte are only hashed, unless their contents are
 * wanted in the objects of `env`, too.
 */
export async function findFiles(
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
