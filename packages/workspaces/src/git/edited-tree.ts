import { createHash, randomBytes } from 'node:crypto'
import { lstat, mkdir } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { deflate } from 'node:zlib'
import { writeFileAtomic } from '@chirality/disk'
import { type GitOptions, type GitRepository, git } from './git.ts'
import { readStateFile } from './state-file.ts'

/** A file that differs from a tree. Its name is a `latin1` string of its bytes, because it need not be UTF-8. */
export interface TreeEdit {
  name: string
  /** Null for a deleted file. */
  mode: '100644' | '100755' | null
}

export interface TreeEdits {
  tree: string
  edits: readonly TreeEdit[]
  /** Folder for new objects. `options.env` names it too. */
  objects: string
  options: GitOptions
}

/**
 * Applies these files' current content to a tree. Reads and writes only the folders of the files; with an index, git
 * reads and writes the entries of all files of the repository, twice. Undefined where only git with an index decides
 * correctly: very many or large files, carriage returns, odd names and modes, a file in the place of a folder, a
 * missing `.gitattributes`.
 */
export async function editedTree(
  repository: GitRepository,
  { tree, edits, objects, options }: TreeEdits,
): Promise<string | undefined> {
  if (edits.length > MAX_EDITS || edits.some(({ name }) => ODD_NAME.test(name))) return undefined
  const written = edits.filter(({ mode }) => mode !== null)
  if (!(await areSimple(repository, written))) return undefined
  const names = edits.map(({ name }) => name)
  const [ids, folders] = await Promise.all([
    storeFiles(repository, written, options),
    readFolders(repository, { tree, names, options }),
  ])
  if (ids === undefined || folders === undefined) return undefined
  if (!(await hasAttributeFiles(repository, folders))) return undefined
  for (const { name, mode } of edits) if (mode === null) removeFile(folders, name)
  for (const { name, mode } of written) {
    if (!addFile(folders, name, { mode: mode ?? '', id: ids.get(name) ?? '' })) return undefined
  }
  return writeFolder(folders, '', content => writeTree(content, { objects, like: tree }))
}

/** A tree object of git. */
export interface TreeObject {
  id: string
  content: Buffer
}

export interface TreeSteps {
  tree: string
  /** Changes by name, null for a removed file. Each step starts where the previous one ended. */
  steps: readonly ReadonlyMap<string, Entry | null>[]
  options: GitOptions
}

/**
 * The trees after each step, and the objects to store for them. Undefined where only git with an index decides
 * correctly: odd names and modes, a file in the place of a folder.
 */
export async function steppedTrees(
  repository: GitRepository,
  { tree, steps, options }: TreeSteps,
): Promise<{ ids: string[]; objects: TreeObject[] } | undefined> {
  const names = [...new Set(steps.flatMap(step => [...step.keys()]))]
  if (names.some(name => ODD_NAME.test(name))) return undefined
  const folders = await readFolders(repository, { tree, names, options })
  if (folders === undefined) return undefined
  const objects = new Map<string, TreeObject>()
  const keep = (content: Buffer) => {
    const id = objectId('tree', content, tree)
    objects.set(id, { id, content })
    return id
  }
  const ids: string[] = []
  for (const step of steps) {
    // A folder of that name, or a path below a file, has nothing to remove.
    for (const [name, file] of step)
      if (file === null && (entryOf(folders, name)?.mode ?? FOLDER) !== FOLDER) removeFile(folders, name)
    for (const [name, file] of step) if (file !== null && !addFile(folders, name, file)) return undefined
    ids.push(await writeFolder(folders, '', keep))
  }
  return { ids, objects: [...objects.values()] }
}

const MAX_EDITS = 100
const MAX_FILE_BYTES = 1024 * 1024
/**
 * Names that need an index. Git reads one name per line, drops a carriage return at its end, and takes a leading
 * quotation mark for quoting. An index refuses `.git` in every spelling that a file system may accept, and attributes
 * decide how other files are stored.
 */
const ODD_NAME = /[\n\r\\]|^"|(^|\/)(\.git|git~|\.[^/]*[^ -~/])/i

/** True if no file has a carriage return: its conversion would depend on the index. */
async function areSimple(repository: GitRepository, edits: readonly TreeEdit[]): Promise<boolean> {
  const checked = await Promise.all(
    edits.map(({ name }) =>
      readStateFile(fileOnDisk(repository, name), MAX_FILE_BYTES).then(
        content => !content.includes(CARRIAGE_RETURN),
        () => false,
      ),
    ),
  )
  return checked.every(Boolean)
}

const CARRIAGE_RETURN = 13

/** Path of a file as bytes. */
export function fileOnDisk({ top }: GitRepository, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${top}/`), Buffer.from(name, 'latin1')])
}

/** Undefined if a file cannot be read. */
async function storeFiles(
  repository: GitRepository,
  edits: readonly TreeEdit[],
  options: GitOptions,
): Promise<ReadonlyMap<string, string> | undefined> {
  if (edits.length === 0) return new Map()
  const input = Buffer.from(edits.map(({ name }) => `${name}\n`).join(''), 'latin1')
  const output = await git(repository, ['hash-object', '-w', '--stdin-paths'], { ...options, input }).catch(
    () => undefined,
  )
  const ids = output?.toString('latin1').trim().split('\n') ?? []
  if (ids.length !== edits.length) return undefined
  return new Map(edits.map(({ name }, index) => [name, ids[index] ?? '']))
}

interface Entry {
  mode: string
  id: string
}

/** Entries of each folder by name; '' is the root. */
type Folders = Map<string, Map<string, Entry>>

/** Reads all folders of the tree above these files. Undefined if that fails. */
async function readFolders(
  repository: GitRepository,
  { tree, names, options }: { tree: string; names: readonly string[]; options: GitOptions },
): Promise<Folders | undefined> {
  const wanted = [...new Set(names.flatMap(parentsOf))]
  const input = Buffer.from(wanted.map(folder => `${tree}:${folder}\n`).join(''), 'latin1')
  const output = await git(repository, ['cat-file', '--batch'], {
    ...options,
    input,
    maxBytes: MAX_TREES_BYTES,
  }).catch(() => undefined)
  if (output === undefined) return undefined
  const folders: Folders = new Map()
  let at = 0
  for (const folder of wanted) {
    const end = output.indexOf('\n', at)
    const [, type, size] = /^[0-9a-f]+ (\w+) (\d+)$/.exec(output.toString('latin1', at, end)) ?? []
    at = end + 1
    const listed = folder === '' ? FOLDER : entryOf(folders, folder)?.mode
    // The folder's object is gone: treated as empty, it would lose its files.
    if (listed === FOLDER && type !== 'tree') return undefined
    // The folder does not exist, or a file has its place.
    const entries = type === 'tree' ? parseTree(output.subarray(at, at + Number(size)), tree) : new Map()
    if (entries === undefined) return undefined
    folders.set(folder, entries)
    if (size !== undefined) at += Number(size) + 1
  }
  return folders
}

const MAX_TREES_BYTES = 64 * 1024 * 1024

function parentsOf(name: string): string[] {
  const parts = name.split('/')
  return parts.map((_, depth) => parts.slice(0, depth).join('/'))
}

/** Undefined if an entry has a mode that an index would not keep. */
function parseTree(content: Buffer, like: string): Map<string, Entry> | undefined {
  const entries = new Map<string, Entry>()
  for (let at = 0; at < content.length; ) {
    const end = content.indexOf(0, at)
    const head = content.toString('latin1', at, end)
    const space = head.indexOf(' ')
    const mode = head.slice(0, space)
    if (!MODES.has(mode)) return undefined
    at = end + 1 + like.length / 2
    entries.set(head.slice(space + 1), { mode, id: content.toString('hex', end + 1, at) })
  }
  return entries
}

const FOLDER = '40000'
const MODES = new Set([FOLDER, '100644', '100755', '120000', '160000'])

/** False if a `.gitattributes` of the tree is missing on the disk: git would take it from the index instead. */
async function hasAttributeFiles(repository: GitRepository, folders: Folders): Promise<boolean> {
  for (const [folder, entries] of folders) {
    if (!entries.has('.gitattributes')) continue
    const name = folder === '' ? '.gitattributes' : `${folder}/.gitattributes`
    const facts = await lstat(fileOnDisk(repository, name)).catch(() => undefined)
    if (!facts?.isFile()) return false
  }
  return true
}

/** Removes a file, and the folders that become empty. */
function removeFile(folders: Folders, name: string): void {
  for (let left = name; ; left = path.posix.dirname(left)) {
    const parent = folderOf(left)
    folders.get(parent)?.delete(path.posix.basename(left))
    if (parent === '' || (folders.get(parent)?.size ?? 0) > 0) return
  }
}

/** False if a folder has the file's place, or a file that of one of its folders. */
function addFile(folders: Folders, name: string, entry: Entry): boolean {
  const before = entryOf(folders, name)
  if (before !== undefined && !before.mode.startsWith('100')) return false
  folders.get(folderOf(name))?.set(path.posix.basename(name), entry)
  for (let folder = folderOf(name); folder !== ''; folder = folderOf(folder)) {
    const parent = folders.get(folderOf(folder))
    const known = parent?.get(path.posix.basename(folder))
    if (known !== undefined && known.mode !== FOLDER) return false
    if (known === undefined) parent?.set(path.posix.basename(folder), { mode: FOLDER, id: '' })
  }
  return true
}

function entryOf(folders: Folders, name: string): Entry | undefined {
  return folders.get(folderOf(name))?.get(path.posix.basename(name))
}

function folderOf(name: string): string {
  const folder = path.posix.dirname(name)
  return folder === '.' ? '' : folder
}

/** Writes a folder and all loaded folders below it. */
async function writeFolder(
  folders: Folders,
  folder: string,
  write: (content: Buffer) => string | Promise<string>,
): Promise<string> {
  const rows: { key: string; row: Buffer }[] = []
  for (const [name, { mode, id }] of folders.get(folder) ?? []) {
    const below = folder === '' ? name : `${folder}/${name}`
    const isRead = mode === FOLDER && folders.has(below)
    const now = isRead ? await writeFolder(folders, below, write) : id
    const row = Buffer.concat([Buffer.from(`${mode} ${name}\0`, 'latin1'), Buffer.from(now, 'hex')])
    // Git sorts a folder as if its name ended with a slash.
    rows.push({ key: mode === FOLDER ? `${name}/` : name, row })
  }
  rows.sort((a, b) => (a.key < b.key ? -1 : 1))
  return write(Buffer.concat(rows.map(({ row }) => row)))
}

/** Stores a tree object atomically. */
async function writeTree(
  content: Buffer,
  { objects, like }: { objects: string; like: string },
): Promise<string> {
  const id = objectId('tree', content, like)
  const folder = path.join(objects, id.slice(0, 2))
  const place = path.join(folder, id.slice(2))
  if ((await lstat(place).catch(() => undefined)) !== undefined) return id
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const packed = await compress(Buffer.concat([headOf('tree', content), content]))
  // Git removes leftover files with this prefix.
  const temporary = path.join(folder, `tmp_obj_${randomBytes(6).toString('hex')}`)
  await writeFileAtomic(place, packed, { temporary, mode: 0o444, survives: 'kill' })
  return id
}

const compress = promisify<Buffer, Buffer>(deflate)

/** The id that git gives this content. `like` is any id of the same repository, which tells the hash. */
export function objectId(type: 'blob' | 'tree' | 'commit', content: Buffer, like: string): string {
  return createHash(like.length === 64 ? 'sha256' : 'sha1')
    .update(headOf(type, content))
    .update(content)
    .digest('hex')
}

function headOf(type: string, content: Buffer): Buffer {
  return Buffer.from(`${type} ${content.length}\0`)
}
