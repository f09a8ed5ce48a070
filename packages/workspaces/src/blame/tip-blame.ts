import { createHash } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { git } from '../git/git.ts'
import { readStateFile, writeStateFile } from '../git/state-file.ts'
import { type BlamedGroup, parseIncremental } from './incremental.ts'
import type { ChainPoint, PrivateGit } from './turn-chain.ts'

/** Runs `git blame` in a private git folder. */
export async function runBlame(
  own: PrivateGit,
  args: string[],
  { timeoutMs = TIMEOUT_MS }: { timeoutMs?: number } = {},
): Promise<BlamedGroup[]> {
  const output = await git(own.repository, ['blame', '--incremental', '--no-textconv', ...args], {
    timeoutMs,
    maxBytes: MAX_OUTPUT_BYTES,
    env: KEPT_MEMORY,
  })
  return parseIncremental(output.toString('utf8'))
}

/**
 * Keeps large memory blocks in the process. Git allocates a block per version of the file, and returning each to the
 * system takes a third of a long blame with glibc; other C libraries ignore these variables.
 */
const KEPT_MEMORY = {
  MALLOC_MMAP_THRESHOLD_: String(256 * 1024 * 1024),
  MALLOC_TRIM_THRESHOLD_: String(256 * 1024 * 1024),
  MALLOC_TOP_PAD_: String(16 * 1024 * 1024),
}

/**
 * The commit of each line at the end of a chain. The result is stored, so the next call reads only the new points,
 * however long the chain is.
 */
export async function blameTip(
  own: PrivateGit,
  { chain, folder, name }: { chain: readonly ChainPoint[]; folder: string; name: string },
): Promise<string[]> {
  const tip = chain.at(-1)?.commit ?? ''
  const first = chain[0]?.commit ?? ''
  const file = path.join(
    folder,
    `file-${createHash('sha256').update(`${first}\0${name}`).digest('hex')}.json`,
  )
  const known = await readKept(file)
  if (known?.tip === tip) return known.lines
  const isUsable = known !== undefined && chain.some(({ commit }) => commit === known.tip)
  const lines =
    (isUsable ? await addedTo(own, known, { tip, name }) : await inHalves(own, chain, name)) ??
    (await wholeBlame(own, tip, name))
  await writeStateFile(file, JSON.stringify(packed({ tip, lines })))
  await dropOthers(folder, path.basename(file))
  return lines
}

async function wholeBlame(own: PrivateGit, tip: string, name: string): Promise<string[]> {
  const lines: string[] = []
  for (const group of await runBlame(own, [tip, '--', name])) fill(lines, group, () => group.commit ?? '')
  return lines
}

/**
 * Blames the older and the newer half of a long chain in parallel. Undefined if the file did not exist at the middle.
 */
async function inHalves(
  own: PrivateGit,
  chain: readonly ChainPoint[],
  name: string,
): Promise<string[] | undefined> {
  const middle = chain[chain.length >> 1]?.commit
  const tip = chain.at(-1)?.commit
  if (chain.length < MIN_HALVED || middle === undefined || tip === undefined || middle === tip)
    return undefined
  const [older, newer] = await Promise.all([
    // Fails if the file does not exist there.
    wholeBlame(own, middle, name).catch(() => undefined),
    runBlame(own, [`^${middle}`, tip, '--', name]),
  ])
  return older && onTopOf({ tip: middle, lines: older }, newer, name)
}

const MIN_HALVED = 100

/** Undefined if the file had another name at the stored point. */
async function addedTo(
  own: PrivateGit,
  known: Kept,
  { tip, name }: { tip: string; name: string },
): Promise<string[] | undefined> {
  return onTopOf(known, await runBlame(own, [`^${known.tip}`, tip, '--', name]), name)
}

function onTopOf(known: Kept, groups: readonly BlamedGroup[], name: string): string[] | undefined {
  const lines: string[] = []
  for (const group of groups) {
    const isKept = group.commit === known.tip
    if (isKept && group.originalPath !== name) return undefined
    fill(lines, group, offset =>
      isKept ? (known.lines[group.originalLine - 1 + offset] ?? '') : (group.commit ?? ''),
    )
  }
  return lines
}

function fill(lines: string[], group: BlamedGroup, commitAt: (offset: number) => string): void {
  for (let i = 0; i < group.count; i += 1) lines[group.line - 1 + i] = commitAt(i)
}

interface Kept {
  tip: string
  /** The commit of each line. */
  lines: string[]
}

/** Compact form: each commit once, with runs of consecutive lines. */
interface Packed {
  tip: string
  commits: string[]
  runs: [commit: number, count: number][]
}

function packed({ tip, lines }: Kept): Packed {
  const indexes = new Map<string, number>()
  const runs: Packed['runs'] = []
  for (const commit of lines) {
    const index = indexes.get(commit) ?? indexes.size
    indexes.set(commit, index)
    const last = runs.at(-1)
    if (last?.[0] === index) last[1] += 1
    else runs.push([index, 1])
  }
  return { tip, commits: [...indexes.keys()], runs }
}

/** Reads a stored result. Other programs can write the file, so an invalid one is ignored and made again. */
async function readKept(file: string): Promise<Kept | undefined> {
  try {
    const { tip, commits, runs } = JSON.parse((await readStateFile(file)).toString('utf8')) as Packed
    if (![tip, ...commits].every(id => /^[0-9a-f]{40,64}$/.test(id))) return undefined
    const total = runs.reduce((sum, [, count]) => sum + count, 0)
    if (!(total <= MAX_KEPT_LINES)) return undefined
    return { tip, lines: runs.flatMap(([index, count]) => Array<string>(count).fill(commits[index] ?? '')) }
  } catch {
    return undefined
  }
}

async function dropOthers(folder: string, kept: string): Promise<void> {
  const files = (await readdir(folder)).filter(name => name.startsWith('file-'))
  if (files.length <= MAX_KEPT_FILES) return
  for (const name of files) if (name !== kept) await rm(path.join(folder, name), { force: true })
}

const MAX_KEPT_FILES = 200
const MAX_KEPT_LINES = 1_000_000
const TIMEOUT_MS = 60_000
const MAX_OUTPUT_BYTES = 128 * 1024 * 1024
