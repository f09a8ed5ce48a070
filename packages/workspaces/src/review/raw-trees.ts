import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type GitOptions, type GitRepository, git } from '../git/git.ts'
import { workspaceError } from '../workspace-error.ts'
import { type DiskFile, DiskFiles, shownName, type TreeFile } from './disk-files.ts'

/** A temporary index that begins with the last commit, so that a tree of it shows only the files that differ. */
export async function withIndex<T>(
  repository: GitRepository,
  env: Record<string, string>,
  work: (options: GitOptions) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), 'chirality-index-'))
  const options: GitOptions = {
    env: { ...env, GIT_INDEX_FILE: path.join(folder, 'index') },
    timeoutMs: TIMEOUT_MS,
  }
  try {
    const found = await git(repository, ['rev-parse', '--verify', '--quiet', 'HEAD^{tree}'], {
      okCodes: [0, 1, 128],
    })
    const head = found.toString('utf8').trim()
    await git(repository, head === '' ? ['read-tree', '--empty'] : ['read-tree', head], options)
    return await work(options)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Two trees with the bytes of the disk, which `FileMoves` takes: the given files as they are, and as they shall be.
 * Their objects are in the user's repository, where a ref can keep them. `wanted` has the content as git stores it:
 * line endings and filters of the user's own config are applied here.
 */
export async function rawTrees(
  repository: GitRepository,
  wanted: ReadonlyMap<string, TreeFile | null>,
  objects: Record<string, string>,
): Promise<{ from: string; to: string }> {
  const disk = new DiskFiles(repository)
  const found = new Map<string, DiskFile | undefined>()
  for (const name of wanted.keys()) found.set(name, await disk.read(name))
  const now = await storeAll(repository, found)
  const later = await converted(repository, wanted, objects)
  return withIndex(repository, {}, async options => {
    const treeOf = async (files: ReadonlyMap<string, TreeFile | null>) => {
      await enter(repository, files, options)
      return (await git(repository, ['write-tree'], options)).toString('utf8').trim()
    }
    const trees = { from: await treeOf(now), to: await treeOf(later) }
    await requireOnly(repository, wanted, trees)
    return trees
  })
}

/** A file cannot be in a tree together with a folder of its name: what was entered may have pushed out what shall stay. */
async function requireOnly(
  repository: GitRepository,
  wanted: ReadonlyMap<string, TreeFile | null>,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const args = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', from, to]
  const output = await git(repository, args, { maxBytes: MAX_BLOB_BYTES, timeoutMs: TIMEOUT_MS })
  const names = output.toString('latin1').split('\0').filter(Boolean)
  const pushedOut = names.find(name => !wanted.has(name))
  if (pushedOut === undefined) return
  const isNested = (a: string, b: string) => a.startsWith(`${b}/`) || b.startsWith(`${a}/`)
  const entered = names.find(name => wanted.has(name) && isNested(name, pushedOut)) ?? pushedOut
  throw workspaceError(
    'review-refused',
    `${shownName(entered)} cannot be written: ${shownName(pushedOut)} is in its place and would be lost. Take back ${shownName(pushedOut)} too, or move it first. Nothing was changed.`,
  )
}

/** Replaces the entries of these files in an index. */
export async function enter(
  repository: GitRepository,
  files: ReadonlyMap<string, TreeFile | null>,
  options: GitOptions,
): Promise<void> {
  const line = (name: string, file: TreeFile | null) =>
    file === null ? `0 ${'0'.repeat(40)}\t${name}\0` : `${file.mode} ${file.id}\t${name}\0`
  // Removals first: a file may take the place of a folder.
  const ordered = [...files].sort(([, a], [, b]) => Number(a !== null) - Number(b !== null))
  const input = Buffer.from(ordered.map(([name, file]) => line(name, file)).join(''), 'latin1')
  await git(repository, ['update-index', '--replace', '-z', '--index-info'], { ...options, input })
}

/** Writes contents into the user's repository, with one git for all of them. */
async function storeAll(
  repository: GitRepository,
  files: ReadonlyMap<string, DiskFile | undefined>,
): Promise<Map<string, TreeFile | null>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'chirality-contents-'))
  try {
    const present = [...files].flatMap(([name, file]) => (file === undefined ? [] : [{ name, ...file }]))
    const places = present.map((_, index) => path.join(folder, String(index)))
    for (const [index, { content }] of present.entries()) await writeFile(places[index] ?? '', content)
    const output = await git(repository, ['hash-object', '-w', '--no-filters', '--stdin-paths'], {
      input: places.map(place => `${place}\n`).join(''),
      timeoutMs: TIMEOUT_MS,
    })
    const ids = output.toString('utf8').split('\n')
    const stored = new Map<string, TreeFile | null>([...files.keys()].map(name => [name, null]))
    for (const [index, { name, mode }] of present.entries()) stored.set(name, { mode, id: ids[index] ?? '' })
    return stored
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** As a check-out would write them. */
async function converted(
  repository: GitRepository,
  wanted: ReadonlyMap<string, TreeFile | null>,
  objects: Record<string, string>,
): Promise<Map<string, TreeFile | null>> {
  const later = new Map<string, DiskFile | undefined>()
  const contents = await readBlobs(
    repository,
    [...wanted.values()].flatMap(file => (file === null || file.mode === '160000' ? [] : [file.id])),
    objects,
  )
  const plain = await withoutConversion(repository, [...wanted.keys()])
  for (const [name, file] of wanted) {
    if (file === null) {
      later.set(name, undefined)
      continue
    }
    if (file.mode !== '100644' && file.mode !== '100755' && file.mode !== '120000')
      throw workspaceError(
        'review-refused',
        `${shownName(name)} is a repository of its own. Nothing was changed.`,
      )
    const stored = contents.get(file.id)
    if (stored === undefined || isNoteOfLargeFile(stored))
      throw workspaceError(
        'review-refused',
        `${shownName(name)} was too large to be kept as it was, so it cannot be brought back. Nothing was changed.`,
      )
    const isPlain = file.mode === '120000' || plain.has(name)
    const filters = ['cat-file', '--filters', `--path=${shownName(name)}`, file.id]
    const content = isPlain
      ? stored
      : await git(repository, filters, { env: objects, maxBytes: MAX_BLOB_BYTES, timeoutMs: TIMEOUT_MS })
    later.set(name, { mode: file.mode, content })
  }
  return storeAll(repository, later)
}

/** Files whose line endings and content git leaves as they are: most of them, and they need no git each. */
async function withoutConversion(repository: GitRepository, names: readonly string[]): Promise<Set<string>> {
  const asked = await git(repository, ['config', '--get', 'core.autocrlf'], { okCodes: [0, 1] })
  if (!['', 'false'].includes(asked.toString('utf8').trim())) return new Set()
  const input = Buffer.from(names.map(name => `${name}\0`).join(''), 'latin1')
  const attributes = ['text', 'eol', 'filter', 'ident', 'working-tree-encoding', 'crlf']
  const output = await git(repository, ['check-attr', '-z', '--stdin', ...attributes], {
    input,
    maxBytes: MAX_BLOB_BYTES,
  })
  const plain = new Set(names)
  const words = output.toString('latin1').split('\0')
  for (let i = 0; i + 2 < words.length; i += 3) {
    if (words[i + 2] !== 'unspecified' && words[i + 2] !== 'unset') plain.delete(words[i] ?? '')
  }
  return plain
}

/** A snapshot has this line instead of a large file that git does not have. */
function isNoteOfLargeFile(content: Buffer): boolean {
  return (
    content.length < 200 &&
    /^Not kept: \d+ bytes, more than \d+\. Last changed .*\.\n$/.test(content.toString('utf8'))
  )
}

/** The contents of objects, by their ids. */
export async function readBlobs(
  repository: GitRepository,
  ids: readonly string[],
  env: Record<string, string> = {},
): Promise<Map<string, Buffer>> {
  const contents = new Map<string, Buffer>()
  if (ids.length === 0) return contents
  const output = await git(repository, ['cat-file', '--batch'], {
    env,
    input: `${[...new Set(ids)].join('\n')}\n`,
    maxBytes: MAX_BLOB_BYTES,
    timeoutMs: TIMEOUT_MS,
  })
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf(0x0a, at)
    const [id = '', type, size] = output.toString('latin1', at, end).split(' ')
    at = end + 1
    if (type !== 'blob') continue
    contents.set(id, output.subarray(at, at + Number(size)))
    at += Number(size) + 1
  }
  return contents
}

/** The files as git would store them now. */
export async function storedFiles(
  repository: GitRepository,
  names: readonly string[],
  env: Record<string, string>,
): Promise<Map<string, TreeFile | null>> {
  const disk = new DiskFiles(repository)
  const present = new Set<string>()
  for (const name of names) if (await disk.has(name)) present.add(name)
  return withIndex(repository, env, async options => {
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
    return new Map(names.map(name => [name, (present.has(name) && entries.get(name)) || null]))
  })
}

const TIMEOUT_MS = 5 * 60_000
const MAX_BLOB_BYTES = 1024 * 1024 * 1024
