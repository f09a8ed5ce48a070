import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { deflateSync } from 'node:zlib'
import { type GitRepository, git } from '../git/git.ts'
import { snapshotEnvironment } from '../git/snapshot.ts'
import { readStateFile, writeStateFile } from '../git/state-file.ts'

/** The files of a work folder at the start or the end of a turn. */
export interface TurnPoint {
  /** Identifies one turn of one session. */
  turn: string
  when: 'before' | 'after'
  /** In milliseconds since 1970; null if unknown. */
  at: number | null
  tree: string
}

/** A point with its commit. Consecutive equal points share one commit. */
export interface ChainPoint extends TurnPoint {
  commit: string
  /** Contents of the files that changed since the previous point. Empty if there are too many. */
  blobs: string[]
}

/**
 * Turns the points of one work folder into a chain of commits, oldest first, that `git blame` can read. The commits are
 * among Chirality's own objects. Only points that are new since the last call are added.
 */
export async function turnChain(
  repository: GitRepository,
  stateFolder: string,
  { place, points }: { place: string; points: readonly TurnPoint[] },
): Promise<ChainPoint[]> {
  const file = chainFile(stateFolder, place)
  const known = await readChain(file)
  const sorted = inOrder(known, points)
  const same = sorted.findIndex((point, index) => point !== known[index])
  if (same === -1) return known
  const env = await snapshotEnvironment(repository, stateFolder)
  const chain = known.slice(0, same)
  const fresh = sorted.slice(same)
  const contents: Buffer[] = []
  for (const point of fresh) {
    const before = chain.at(-1)
    if (before?.tree === point.tree) {
      chain.push({ ...point, commit: before.commit, blobs: [] })
      continue
    }
    const content = commitObject(point.tree, before?.commit)
    contents.push(content)
    chain.push({ ...point, commit: objectId('commit', content, point.tree.length), blobs: [] })
  }
  await Promise.all([
    storeCommits(repository, contents, env),
    nameBlobs(repository, chain, { from: same, env }),
  ])
  const kept = chain.slice(-MAX_POINTS)
  await writeStateFile(file, JSON.stringify(kept))
  return kept
}

const MAX_POINTS = 20_000
const MAX_BLOBS = 500

/**
 * Merges new points into the chain. Known points stay even if their session is deleted, so that their changes are not
 * credited to another turn.
 */
function inOrder(known: readonly ChainPoint[], points: readonly TurnPoint[]): (ChainPoint | TurnPoint)[] {
  const keyOf = ({ turn, when }: TurnPoint) => `${when} ${turn}`
  const seen = new Set(known.map(keyOf))
  const fresh = points.filter(point => !seen.has(keyOf(point)))
  if (fresh.length === 0) return [...known]
  const time = ({ at }: TurnPoint) => at ?? 0
  return [...known, ...fresh].sort((a, b) => time(a) - time(b))
}

/** Content of a commit. Equal histories give equal bytes, so nothing is stored twice. */
function commitObject(tree: string, parent: string | undefined): Buffer {
  const who = 'Chirality <chirality@localhost> 0 +0000'
  const lines = [`tree ${tree}`, ...(parent ? [`parent ${parent}`] : []), `author ${who}`, `committer ${who}`]
  return Buffer.from(`${lines.join('\n')}\n\npoint\n`)
}

function objectId(type: string, content: Buffer, idLength: number): string {
  const hash = createHash(idLength === 64 ? 'sha256' : 'sha1')
  return hash.update(`${type} ${content.length}\0`).update(content).digest('hex')
}

/** Stores all commits with one git process. */
async function storeCommits(
  repository: GitRepository,
  contents: readonly Buffer[],
  env: Record<string, string>,
): Promise<void> {
  if (contents.length === 0) return
  if (contents.length >= MIN_PACKED) {
    const idLength = /^tree ([0-9a-f]+)/.exec(contents[0]?.toString('latin1') ?? '')?.[1]?.length ?? 40
    const input = packOf(contents, idLength)
    await git(repository, ['index-pack', '--stdin'], { env, input, timeoutMs: TIMEOUT_MS })
    return
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'chirality-points-'))
  try {
    const files = contents.map((_, index) => path.join(folder, String(index)))
    for (const [index, content] of contents.entries()) await writeFile(files[index] ?? '', content)
    await git(repository, ['hash-object', '-t', 'commit', '-w', '--no-filters', '--stdin-paths'], {
      env,
      input: files.map(file => `${file}\n`).join(''),
      timeoutMs: TIMEOUT_MS,
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** From this many objects on, one pack is much faster to write and read than a file for each. */
const MIN_PACKED = 100

/** Packs commits into one file in git's pack format. */
function packOf(contents: readonly Buffer[], idLength: number): Buffer {
  const head = Buffer.alloc(12)
  head.write('PACK', 'latin1')
  head.writeUInt32BE(2, 4)
  head.writeUInt32BE(contents.length, 8)
  const parts: Buffer[] = [head]
  for (const content of contents) parts.push(commitHeader(content.length), deflateSync(content))
  const hash = createHash(idLength === 64 ? 'sha256' : 'sha1')
  for (const part of parts) hash.update(part)
  return Buffer.concat([...parts, hash.digest()])
}

/**
 * Header of an object: the type, then the size in groups of 4 and then 7 bits, lowest first; the highest bit announces
 * another byte.
 */
function commitHeader(size: number): Buffer {
  const bytes: number[] = []
  let rest = size >> 4
  let byte = (COMMIT_TYPE << 4) | (size & 0x0f)
  for (; rest > 0; rest >>= 7) {
    bytes.push(byte | 0x80)
    byte = rest & 0x7f
  }
  return Buffer.from([...bytes, byte])
}

const COMMIT_TYPE = 1

/** Notes the blobs of each point. A commit of the user is recognized by them as a turn's result, on any branch. */
async function nameBlobs(
  repository: GitRepository,
  chain: ChainPoint[],
  { from, env }: { from: number; env: Record<string, string> },
): Promise<void> {
  const pairs = chain.flatMap((point, index) => {
    const before = chain[index - 1]
    return index < from || before === undefined || before.tree === point.tree ? [] : [{ before, point }]
  })
  if (pairs.length === 0) return
  const options = ['-r', '-z', '--raw', '--no-renames', '--no-abbrev', '--stdin']
  const output = await git(repository, ['diff-tree', ...options], {
    env,
    input: pairs.map(({ before, point }) => `${before.tree} ${point.tree}\n`).join(''),
    maxBytes: MAX_LIST_BYTES,
    timeoutMs: TIMEOUT_MS,
  })
  const byPair = new Map(pairs.map(({ before, point }) => [`${before.tree} ${point.tree}`, point]))
  let point: ChainPoint | undefined
  for (const word of output.toString('latin1').split('\0')) {
    const [, pair, blob] =
      /^(?:([0-9a-f]+ [0-9a-f]+)\n)?:\d+ \d+ [0-9a-f]+ ([0-9a-f]+) [A-Z]$/.exec(word) ?? []
    if (pair !== undefined) point = byPair.get(pair)
    if (blob !== undefined && point !== undefined && !/^0+$/.test(blob)) point.blobs.push(blob)
  }
  // A change this large comes from a switch of branches, not from a turn.
  for (const { point: named } of pairs) if (named.blobs.length > MAX_BLOBS) named.blobs = []
}

export interface PrivateGit {
  /** Has no config, attributes or refs; reads the objects of the user and of Chirality. */
  repository: GitRepository
  /** Sets the commit at which the next command starts. */
  setHead(commit: string): Promise<void>
}

/**
 * Runs `work` with a temporary git folder for reading. Config of the user's repository or of `.chirality` does not
 * apply there.
 */
export async function withPrivateGit<T>(
  repository: GitRepository,
  stateFolder: string,
  work: (own: PrivateGit) => Promise<T>,
): Promise<T> {
  const env = await snapshotEnvironment(repository, stateFolder)
  const folder = await mkdtemp(path.join(tmpdir(), 'chirality-blame-'))
  const own = path.join(folder, '.git')
  try {
    for (const name of ['objects', 'refs']) await mkdir(path.join(own, name), { recursive: true })
    const [format = 'sha1', shallow = ''] = (
      await git(repository, ['rev-parse', '--show-object-format', '--git-path', 'shallow'])
    )
      .toString('utf8')
      .split('\n')
    const isPlain = format === 'sha1'
    const version = `[core]\n\trepositoryformatversion = ${isPlain ? 0 : 1}\n`
    await writeFile(
      path.join(own, 'config'),
      isPlain ? version : `${version}[extensions]\n\tobjectFormat = ${format}\n`,
    )
    // Lists the commits that a shallow clone lacks, so that git does not look for them.
    const cut = await readStateFile(path.resolve(repository.top, shallow)).catch(() => undefined)
    if (cut !== undefined) await writeFile(path.join(own, 'shallow'), cut)
    const setHead = (commit: string) => writeFile(path.join(own, 'HEAD'), `${commit}\n`)
    await writeFile(path.join(own, 'HEAD'), 'ref: refs/heads/none\n')
    const settings = { top: folder, prefix: '', overrides: NO_EXTRAS, env }
    return await work({ repository: settings, setHead })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Overrides settings of the user's config that would change the author of a line. */
const NO_EXTRAS: GitRepository['overrides'] = [
  ['blame.ignoreRevsFile', ''],
  ['mailmap.file', '/dev/null'],
]

/** Folder of the chains and of the results computed from them. */
export function blameFolder(stateFolder: string): string {
  return path.join(stateFolder, 'blame')
}

function chainFile(stateFolder: string, place: string): string {
  return path.join(blameFolder(stateFolder), `chain-${place}.json`)
}

/** Reads a chain. Other programs can write the file, so an invalid one is ignored and made again. */
async function readChain(file: string): Promise<ChainPoint[]> {
  try {
    const points: unknown = JSON.parse((await readStateFile(file)).toString('utf8'))
    return Array.isArray(points) && points.every(isChainPoint) ? points : []
  } catch {
    return []
  }
}

function isChainPoint(value: unknown): value is ChainPoint {
  if (typeof value !== 'object' || value === null) return false
  const { turn, when, at, tree, commit, blobs } = value as Record<string, unknown>
  const isId = (id: unknown) => typeof id === 'string' && /^[0-9a-f]{40,64}$/.test(id)
  return (
    typeof turn === 'string' &&
    (when === 'before' || when === 'after') &&
    (at === null || typeof at === 'number') &&
    isId(tree) &&
    isId(commit) &&
    Array.isArray(blobs) &&
    blobs.every(isId)
  )
}

const MAX_LIST_BYTES = 256 * 1024 * 1024
const TIMEOUT_MS = 60_000
