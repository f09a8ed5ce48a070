import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { hasCode } from '@chirality/core'
import { type GitRepository, git, OWN_IDENTITY } from '../git/git.ts'
import { snapshotEnvironment, takeSnapshot } from '../git/snapshot.ts'
import { workspaceError } from '../workspace-error.ts'
import { resolveCommit } from '../worktrees/check-base.ts'
import type { BlamedGroup, UserCommit } from './incremental.ts'
import { blameTip, runBlame } from './tip-blame.ts'
import {
  blameFolder,
  type ChainPoint,
  type PrivateGit,
  type TurnPoint,
  turnChain,
  withPrivateGit,
} from './turn-chain.ts'
import { type Labels, labelsOf, type PointLabel } from './turn-labels.ts'

/** Origin of a line. */
export type LineOrigin =
  | {
      kind: 'turns'
      /** One turn, or all that ran when the line was written. */
      turns: string[]
      /** False if the line may have been written after the turn, because the turn's end was not recorded. */
      isSure: boolean
      /** The user's commit that brought the line here from another work folder or branch. */
      commit?: UserCommit | undefined
    }
  /** Written in the repository's history by no known turn. */
  | { kind: 'commit'; commit: UserCommit }
  /** Uncommitted and in no turn: written by a person or another program between these times. */
  | { kind: 'between'; since: number | null; until: number | null }

/** Lines of one origin, from `line` (the first is 1). */
export interface BlamedLines {
  line: number
  count: number
  origin: LineOrigin
}

export interface BlameRequest {
  /** The folder of Chirality's own objects. */
  stateFolder: string
  /** Names the work folder within the project; letters, digits, `-` and `_`. */
  place: string
  /** States of the turns in this work folder. */
  points: readonly TurnPoint[]
  /** Turns that are running. */
  running: ReadonlySet<string>
  /** All work folders of the project, including removed ones: a commit can bring lines from each of them. */
  places: readonly string[]
  /** States of the turns in another of these places. Called only if lines came by a commit. */
  pointsOf(place: string): Promise<readonly TurnPoint[]>
  /** From the root of the project. */
  file: string
  content: Buffer
  /** The past state that the content belongs to. Default: the current state of the work folder. */
  at?: PastState | undefined
}

/** A commit, or the files at the start or the end of a turn. */
export interface PastState {
  tree: string
  /** Undefined for files that no commit has as a whole. */
  commit?: string | undefined
  /** In milliseconds since 1970. */
  time: number
}

/**
 * Finds the turn that wrote each line of a file by comparing the trees before and after the turns, through renames and
 * later changes by people. Nothing is guessed: a line that no turn wrote belongs to the history, or was written between
 * turns.
 */
export async function blameFile(repository: GitRepository, request: BlameRequest): Promise<BlamedLines[]> {
  const { stateFolder, place, points, running, content } = request
  const name = repository.prefix === '' ? request.file : `${repository.prefix}/${request.file}`
  const lines = countLines(request.file, content)
  if (lines === 0) return []
  const whole = await turnChain(repository, stateFolder, { place, points })
  const until = request.at?.time ?? Number.POSITIVE_INFINITY
  const chain = whole.filter(({ at }) => (at ?? 0) <= until)
  // A turn that ended after the past state was running at its time.
  const ended = whole.flatMap(({ turn, when }) => (when === 'after' ? [turn] : []))
  const labels = labelsOf(chain, new Set([...running, ...ended]))
  return withPrivateGit(repository, stateFolder, async own => {
    const stored = await storedContent(repository, { own, stateFolder, name, content })
    const byTurns = await blameTurns(repository, { own, chain, stateFolder, name, stored, at: request.at })
    const unknown: LineOrigin = { kind: 'between', since: null, until: null }
    const origins: LineOrigin[] = Array.from({ length: lines }, () => unknown)
    for (const [index, commit] of byTurns.entries())
      origins[index] = originOf(commit === null ? labels.now : labels.ofCommit.get(commit))
    const others = origins.flatMap(({ kind }, index) => (kind === 'between' ? [index] : []))
    if (others.length > 0)
      await explain(repository, { ...request, own, chain, name, stored, origins, others })
    return joined(origins)
  })
}

/** Snapshots do not store larger files either. */
export const MAX_BLAME_BYTES = 5 * 1024 * 1024
const MAX_LINES = 200_000

function countLines(file: string, content: Buffer): number {
  if (content.length > MAX_BLAME_BYTES) throw blameRefused(file, 'it is larger than 5 MB')
  if (content.includes(0)) throw blameRefused(file, 'it is not text')
  let lines = 0
  for (let at = content.indexOf(0x0a); at !== -1; at = content.indexOf(0x0a, at + 1)) lines += 1
  if (content.length > 0 && content.at(-1) !== 0x0a) lines += 1
  if (lines > MAX_LINES) throw blameRefused(file, `it has more than ${MAX_LINES} lines`)
  return lines
}

export function blameRefused(file: string, why: string) {
  return workspaceError('blame-refused', `Blame of ${JSON.stringify(file)} is not available: ${why}.`)
}

/**
 * Stores the content the way git would, with the line endings and filters of the user's config. Returns a file that
 * holds it.
 */
async function storedContent(
  repository: GitRepository,
  {
    own,
    stateFolder,
    name,
    content,
  }: { own: PrivateGit; stateFolder: string; name: string; content: Buffer },
): Promise<string> {
  const env = await snapshotEnvironment(repository, stateFolder)
  const hashed = await git(repository, ['hash-object', '-w', '--stdin', `--path=${name}`], {
    env,
    input: content,
  })
  const stored = await git(own.repository, ['cat-file', 'blob', hashed.toString('utf8').trim()], {
    maxBytes: 4 * MAX_BLAME_BYTES,
  })
  const file = path.join(own.repository.top, 'content')
  await writeFile(file, stored)
  return file
}

interface ByTurns {
  own: PrivateGit
  chain: readonly ChainPoint[]
  stateFolder: string
  name: string
  stored: string
  at: BlameRequest['at']
}

/** The chain's commit for each line; null for lines changed after the end of the chain. */
async function blameTurns(
  repository: GitRepository,
  { own, chain, stateFolder, name, stored, at }: ByTurns,
): Promise<(string | null)[]> {
  const tip = chain.at(-1)?.commit
  if (tip === undefined) return []
  const lines: (string | null)[] = []
  try {
    await own.setHead(tip)
    if (await has(own, tip, name)) {
      const kept = await blameTip(own, { chain, folder: blameFolder(stateFolder), name })
      each(
        await runBlame(own, ['--contents', stored, `^${tip}`, '--', name]),
        (index, { commit }, original) => {
          lines[index] = commit === null ? null : (kept[original - 1] ?? null)
        },
      )
      return lines
    }
    // The file was made or renamed since the last turn: only the tree of all files shows its origin.
    const now = await commitOnTop(repository, { own, stateFolder, name, at }, tip)
    if (now === undefined) return []
    await own.setHead(now)
    each(await runBlame(own, ['--contents', stored, '--', name]), (index, { commit }) => {
      lines[index] = commit === now ? null : commit
    })
    return lines
  } catch (error) {
    // Objects of the trees were only in the user's repository, and git has removed them since.
    if (hasCode(error, 'git-failed')) return []
    throw error
  }
}

/**
 * Commits all files of the state on top of another commit, so that blame finds the file that was renamed to this one.
 */
async function commitOnTop(
  repository: GitRepository,
  { own, stateFolder, name, at }: Pick<ByTurns, 'own' | 'stateFolder' | 'name' | 'at'>,
  parent: string,
): Promise<string | undefined> {
  const tree = at === undefined ? (await takeSnapshot(repository, stateFolder)).tree : at.tree
  if (!(await has(own, tree, name))) return undefined
  const made = await git(own.repository, ['commit-tree', tree, '-p', parent, '-m', 'now'], {
    env: { ...own.repository.env, ...OWN_IDENTITY },
  })
  return made.toString('utf8').trim()
}

interface Unexplained extends BlameRequest {
  own: PrivateGit
  chain: readonly ChainPoint[]
  name: string
  stored: string
  origins: LineOrigin[]
  others: readonly number[]
}

/**
 * Explains lines that no turn in this folder wrote, by the user's commits and by turns elsewhere that these commits
 * contain.
 */
async function explain(repository: GitRepository, request: Unexplained): Promise<void> {
  const { own, name, stored, origins, others } = request
  const last = await historyAt(repository, request.at)
  if (last === undefined) return
  // A file that was renamed and not committed is in no commit by this name.
  const isThere = await has(own, last, name)
  const head = isThere ? last : await commitOnTop(repository, { ...request, at: request.at }, last)
  if (head === undefined) return
  await own.setHead(head)
  const groups = await runBlame(own, [...rangesOf(others), '--contents', stored, '--', name], {
    timeoutMs: HISTORY_TIMEOUT_MS,
  }).catch((error: unknown) => {
    // The history is too long or incomplete: these lines stay unexplained.
    if (hasCode(error, 'git-failed')) return []
    throw error
  })
  const wanted = new Set(others)
  const elsewhere = await turnsElsewhere(
    repository,
    request,
    groups.filter(({ commit }) => isThere || commit !== head),
  )
  each(groups, (index, { commit, info, originalPath }, originalLine) => {
    if (!wanted.has(index) || commit === null || info === undefined) return
    if (!isThere && commit === head) return
    const known = elsewhere.get(`${commit} ${originalPath}`)?.[originalLine - 1]
    origins[index] =
      known?.kind === 'turns'
        ? { kind: 'turns', turns: known.turns, isSure: known.isSure, commit: info }
        : { kind: 'commit', commit: info }
  })
}

/** Undefined if there is no such commit. */
export async function stateOfCommit(repository: GitRepository, name: string): Promise<PastState | undefined> {
  const id = await resolveCommit(repository, name)
  if (id === undefined) return undefined
  const listed = await git(repository, ['rev-list', '--timestamp', '--max-count=1', id])
  // Commit times have whole seconds: states recorded in the same second count.
  const time = Number.parseInt(listed.toString('utf8'), 10) * 1000 + 999
  return { tree: `${id}^{tree}`, commit: id, time }
}

/** The commit whose history explains the other lines: the one that was checked out, as far as known. */
async function historyAt(repository: GitRepository, at: PastState | undefined): Promise<string | undefined> {
  if (at?.commit !== undefined) return at.commit
  const head = await resolveCommit(repository, 'HEAD')
  if (at === undefined || head === undefined) return head
  const until = `--min-age=${Math.ceil(at.time / 1000)}`
  const found = await git(repository, ['rev-list', '--max-count=1', until, head])
  return found.toString('utf8').trim() || head
}

/**
 * Blames lines of commits that contain a turn's result: a commit whose file equals the content that a turn left was
 * made from it. Returns lists of origins by line, keyed by commit and path.
 */
async function turnsElsewhere(
  repository: GitRepository,
  { own, stateFolder, places, pointsOf, place, chain, running }: Unexplained,
  groups: readonly BlamedGroup[],
): Promise<Map<string, LineOrigin[]>> {
  const found = new Map<string, LineOrigin[]>()
  const sizes = new Map<string, { commit: string; originalPath: string; count: number }>()
  for (const { commit, originalPath, count } of groups) {
    if (commit === null) continue
    const key = `${commit} ${originalPath}`
    sizes.set(key, { commit, originalPath, count: count + (sizes.get(key)?.count ?? 0) })
  }
  if (sizes.size === 0) return found
  const chains: (readonly ChainPoint[])[] = [chain]
  for (const other of places) {
    if (other === place) continue
    const points = await pointsOf(other)
    chains.push(await turnChain(repository, stateFolder, { place: other, points }).catch(lostTrees))
  }
  const byBlob = new Map<string, { point: ChainPoint; labels: Labels }>()
  for (const points of chains) {
    const labels = labelsOf(points, running)
    for (const point of points) {
      if (!labels.ofCommit.get(point.commit)?.turns.length) continue
      for (const blob of point.blobs) byBlob.set(blob, { point, labels })
    }
  }
  if (byBlob.size === 0) return found
  const largest = [...sizes].sort(([, a], [, b]) => b.count - a.count).slice(0, MAX_COMMITS)
  for (const [key, { commit, originalPath }] of largest) {
    const blob = await blobAt(own, commit, originalPath)
    const left = blob === undefined ? undefined : byBlob.get(blob)
    if (left === undefined || (await blobAt(own, left.point.commit, originalPath)) !== blob) continue
    const { labels } = left
    const lines: LineOrigin[] = []
    const there = await runBlame(own, [left.point.commit, '--', originalPath])
    each(there, (index, group) => {
      lines[index] = originOf(group.commit === null ? undefined : labels.ofCommit.get(group.commit))
    })
    found.set(key, lines)
  }
  return found
}

/** Objects of the trees were only in the user's repository, and git has removed them since. */
function lostTrees(error: unknown): ChainPoint[] {
  if (hasCode(error, 'git-failed')) return []
  throw error
}

const MAX_COMMITS = 20
const MAX_RANGES = 200
const HISTORY_TIMEOUT_MS = 10_000

function originOf(label: PointLabel | undefined): LineOrigin {
  if (label === undefined) return { kind: 'between', since: null, until: null }
  const { turns, isSure, since, until } = label
  return turns.length === 0 ? { kind: 'between', since, until } : { kind: 'turns', turns, isSure }
}

async function has(own: PrivateGit, tree: string, name: string): Promise<boolean> {
  return (await blobAt(own, tree, name)) !== undefined
}

async function blobAt(own: PrivateGit, tree: string, name: string): Promise<string | undefined> {
  const listed = await git(own.repository, ['ls-tree', '-z', '--full-tree', tree, '--', name])
  return /^100\d+ blob ([0-9a-f]+)\t/.exec(listed.toString('latin1'))?.[1]
}

/** Line ranges as arguments; none if there are too many. */
function rangesOf(indexes: readonly number[]): string[] {
  const ranges: [from: number, to: number][] = []
  for (const index of [...indexes].sort((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === index) last[1] = index + 1
    else ranges.push([index, index + 1])
  }
  return ranges.length > MAX_RANGES ? [] : ranges.flatMap(([from, to]) => ['-L', `${from + 1},${to}`])
}

function each(
  groups: readonly BlamedGroup[],
  see: (index: number, group: BlamedGroup, originalLine: number) => void,
): void {
  for (const group of groups) {
    for (let i = 0; i < group.count; i += 1) see(group.line - 1 + i, group, group.originalLine + i)
  }
}

function joined(origins: readonly LineOrigin[]): BlamedLines[] {
  const blamed: BlamedLines[] = []
  let last = ''
  for (const [index, origin] of origins.entries()) {
    const key = JSON.stringify(origin)
    const before = blamed.at(-1)
    if (before !== undefined && key === last) before.count += 1
    else blamed.push({ line: index + 1, count: 1, origin })
    last = key
  }
  return blamed
}
