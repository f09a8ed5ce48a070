import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { costText } from '@chirality/core'
import { readStart } from '@chirality/disk'
import { confine, requireStillInside, toFileError } from '../files/confine.ts'
import { fileOfTree } from '../git/diff-trees.ts'
import type { GitRepository } from '../git/git.ts'
import type { TreesOfTurn, TurnTrees } from '../turns/turn-trees.ts'
import { workspaceError } from '../workspace-error.ts'
import {
  type BlamedLines,
  type BlameRequest,
  blameFile,
  MAX_BLAME_BYTES,
  type PastState,
} from './blame-file.ts'
import { commitsOfTurns, type TurnLines, writeNotes } from './notes.ts'
import type { TurnPoint } from './turn-chain.ts'

/** A file with the turn that wrote each line. */
export interface Blame {
  path: string
  lines: BlamedLines[]
  /** Facts about the turns in `lines`, by `turnName()`. */
  turns: Record<string, BlamedTurn>
}

export interface BlamedTurn extends TurnFacts {
  sessionId: string
  turnId: string
  title: string | null
  harness: string | null
  /** The session is deleted, so nothing else about the turn is known. */
  isDeleted: boolean
}

/** Facts about a turn from its session's log. */
export interface TurnFacts {
  model: string | null
  prompt: string | null
  at: string | null
  /** Cost of the whole turn. */
  costUsd: number | null
  costIsEstimate: boolean
}

/** A session as in the list of sessions. */
export interface SessionOfPlace {
  id: string
  /** The id of its worktree; null if it works in the project's folder. */
  worktree: string | null
  createdAt: string
  title: string | null
  harness: string | null
  model: string | null
}

export interface BlamePlace {
  /** The project's folder. */
  root: string
  /** The folder with the file: the project's folder, or the same folder in a worktree. */
  folder: string
  /** Id of that worktree. */
  worktree: string | null
  repository: GitRepository
  stateFolder: string
  trees: TurnTrees
  /** All sessions of the project. */
  sessions: readonly SessionOfPlace[]
  /** The running turn of each session. */
  running: ReadonlyMap<string, string>
  /** Facts about a turn from the log; `endSeq` tells where to look for its end. Empty if there is no log. */
  turnFacts(turn: {
    sessionId: string
    turnId: string
    endSeq?: number | undefined
  }): Promise<Partial<TurnFacts>>
}

/** Writes git notes about the turns in the latest commits. Returns the number of commits with a note. */
export async function noteCommits(place: BlamePlace, { limit }: { limit: number }): Promise<number> {
  const { repository, stateFolder } = place
  const commits = await commitsOfTurns(repository, {
    stateFolder,
    place: placeName(place.worktree),
    points: await pointsOfPlace(place),
    ...otherPlaces(place),
    limit,
  })
  const known = new Map<string, BlamedTurn>()
  const notes: { commit: string; text: string }[] = []
  for (const { commit, added, lines } of commits) {
    const byTurn = new Map<string, TurnLines[]>()
    for (const line of lines) byTurn.set(line.turn, [...(byTurn.get(line.turn) ?? []), line])
    const written = lines.reduce((sum, { from, to }) => sum + to - from + 1, 0)
    const parts = [`Agents wrote ${written} of ${added} added lines.`]
    for (const [turn, its] of byTurn) {
      const facts = known.get(turn) ?? (await describe(place, turn))
      known.set(turn, facts)
      parts.push(noteText(facts, its))
    }
    notes.push({ commit, text: `${parts.join('\n\n')}\n` })
  }
  await writeNotes(repository, notes)
  return notes.length
}

function noteText(turn: BlamedTurn, lines: readonly TurnLines[]): string {
  const { sessionId, turnId, harness, model, prompt, costUsd, costIsEstimate } = turn
  const cost = costText({ usd: costUsd, isEstimate: costIsEstimate })
  const who = [harness ?? 'an agent', ...(model ? [model] : []), ...(cost ? [`${cost} for the turn`] : [])]
  const places = lines.map(({ file, from, to }) => `${file}:${from}${to > from ? `-${to}` : ''}`)
  const shown = places.slice(0, MAX_NOTED)
  const more = places.length > MAX_NOTED ? [`and ${places.length - MAX_NOTED} more`] : []
  const asked = prompt === null ? [] : [`Prompt: ${prompt.replace(/\s+/g, ' ').trim().slice(0, 500)}`]
  return [who.join(', '), ...asked, `Session: ${sessionId} turn ${turnId}`, ...shown, ...more].join('\n')
}

const MAX_NOTED = 50

/** Finds the turn that wrote each line of a project's file, with its agent, prompt and cost. */
export async function blameProjectFile(
  place: BlamePlace,
  { path: relative, line, at }: { path: string; line?: number | undefined; at?: PastState | undefined },
): Promise<Blame> {
  const { repository, stateFolder } = place
  const { file, content } = await (at === undefined
    ? readForBlame(place.folder, relative)
    : readPastFile(place, relative, at))
  const points = await pointsOfPlace(place)
  const lines = await blameFile(repository, {
    stateFolder,
    place: placeName(place.worktree),
    points,
    file,
    content,
    at,
    ...otherPlaces(place),
    running: new Set(place.running.values()),
  })
  const shown = line === undefined ? lines : lines.flatMap(group => only(group, line))
  if (line !== undefined && shown.length === 0)
    throw workspaceError('invalid-input', `${relative} has no line ${line}.`)
  const ids = new Set(shown.flatMap(({ origin }) => (origin.kind === 'turns' ? origin.turns : [])))
  const turns: Record<string, BlamedTurn> = {}
  for (const id of ids) turns[id] = await describe(place, id)
  return { path: relative, lines: shown, turns }
}

function only(group: BlamedLines, line: number): BlamedLines[] {
  const { line: from, count } = group
  return line >= from && line < from + count ? [{ ...group, line, count: 1 }] : []
}

function placeName(worktree: string | null): string {
  return worktree === null ? 'project' : `worktree-${worktree}`
}

/** The work folders of the project. Their records are read on demand and once. */
function otherPlaces(place: BlamePlace): Pick<BlameRequest, 'places' | 'pointsOf'> {
  const worktrees = place.sessions.flatMap(session => session.worktree ?? [])
  const byName = new Map([null, ...worktrees].map(worktree => [placeName(worktree), worktree]))
  const known = new Map<string, Promise<TurnPoint[]>>()
  return {
    places: [...byName.keys()],
    pointsOf: name => {
      const points = known.get(name) ?? pointsOfPlace({ ...place, worktree: byName.get(name) ?? null })
      known.set(name, points)
      return points
    },
  }
}

/** Reads the file by its real name: a link inside the project stands for its target. */
async function readForBlame(folder: string, relative: string): Promise<{ file: string; content: Buffer }> {
  const real = await confine(folder, relative)
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
  const handle = await open(real, flags).catch((error: unknown) => {
    throw toFileError(error, relative)
  })
  try {
    const stats = await handle.stat()
    await requireStillInside(folder, relative, { fd: handle.fd, dev: stats.dev, ino: stats.ino })
    if (!stats.isFile()) throw workspaceError('not-a-file', `${relative} is not a file.`)
    if (stats.size > MAX_BLAME_BYTES)
      throw workspaceError('blame-refused', `Blame of ${relative} is not available: it is larger than 5 MB.`)
    const file = path.relative(folder, real).split(path.sep).join('/')
    return { file, content: await readStart(handle, stats.size) }
  } finally {
    await handle.close()
  }
}

async function readPastFile(
  { repository, stateFolder }: BlamePlace,
  relative: string,
  { tree }: PastState,
): Promise<{ file: string; content: Buffer }> {
  const found = await fileOfTree(repository, { tree, path: relative, stateFolder })
  if (found === undefined) throw workspaceError('not-found', `There was no file ${relative} then.`)
  if (found.bytes === null)
    throw workspaceError('blame-refused', `Blame of ${relative} is not available: it is larger than 5 MB.`)
  return { file: relative, content: found.bytes }
}

/** Recorded states of the turns in one work folder. */
async function pointsOfPlace({ root, worktree, sessions, trees }: BlamePlace): Promise<TurnPoint[]> {
  const points: TurnPoint[] = []
  const seen = new Set<string>()
  const here = sessions.filter(session => session.worktree === worktree)
  // Oldest session first: a session made by going back starts with turns of an older one.
  const ordered = here.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
  const untimed: TurnPoint[][] = []
  for (const { id } of ordered) {
    const old: TurnPoint[] = []
    for (const [turnId, recorded] of await trees.all(root, id)) {
      if (seen.has(turnId)) continue
      seen.add(turnId)
      if (recorded.beforeAt === undefined) old.push(...pointsOf(id, turnId, recorded))
      else points.push(...pointsOf(id, turnId, recorded))
    }
    if (old.length > 0) untimed.push(old)
  }
  // Records without a time are ordered within their session only; the order of two such sessions is unknown.
  return untimed.length === 1 ? [...untimed.flat(), ...points] : points
}

function pointsOf(sessionId: string, turnId: string, recorded: TreesOfTurn): TurnPoint[] {
  const { before, after, beforeAt = null, afterAt = null } = recorded
  const turn = turnName(sessionId, turnId)
  return [
    { turn, when: 'before', at: beforeAt, tree: before },
    ...(after === undefined ? [] : [{ turn, when: 'after' as const, at: afterAt, tree: after }]),
  ]
}

export function turnName(sessionId: string, turnId: string): string {
  return `${sessionId}/${turnId}`
}

async function describe(place: BlamePlace, turn: string): Promise<BlamedTurn> {
  const { root, sessions, trees } = place
  const [sessionId = '', turnId = ''] = turn.split('/')
  const session = sessions.find(({ id }) => id === sessionId)
  const unknown: BlamedTurn = {
    sessionId,
    turnId,
    title: null,
    harness: null,
    model: null,
    prompt: null,
    at: null,
    costUsd: null,
    costIsEstimate: false,
    isDeleted: session === undefined,
  }
  if (session === undefined) return unknown
  const { title, harness, model } = session
  const endSeq = (await trees.read(root, sessionId, turnId))?.endSeq
  return { ...unknown, title, harness, model, ...(await place.turnFacts({ sessionId, turnId, endSeq })) }
}
