import path from 'node:path'
import { type BlamePlace, blameProjectFile, type SessionOfPlace } from '../blame/blame-place.ts'
import { findRepository } from '../git/find-repository.ts'
import { type GitRepository, git } from '../git/git.ts'
import { filesOfTurns } from '../undo/back-to.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'
import { findOverlaps, type LineRange, type SessionWork } from './conflict-radar.ts'

/** A project with the facts about its sessions. */
export interface RadarPlace extends Pick<BlamePlace, 'root' | 'stateFolder' | 'trees' | 'turnFacts'> {
  repository: GitRepository
  sessions: readonly RadarSession[]
  worktrees: Pick<Worktrees, 'find'>
}

export interface RadarSession extends SessionOfPlace {
  updatedAt: string
  /** Archived sessions are not compared. */
  shelf: string | null
}

/** Changes of another session in the files that a session changed. */
export interface SessionOverlap {
  sessionId: string
  title: string | null
  /** Null if it works in the folder of the project. */
  branch: string | null
  inSameFolder: boolean
  files: {
    path: string
    /** True if the two versions would not merge. */
    conflicts: boolean
    own: LineRange[]
    theirs: LineRange[]
  }[]
}

/**
 * Changes of other sessions in the files that a session changed, from their recorded turns. Covers the most recent
 * sessions and no archived one.
 */
export async function sessionOverlaps(place: RadarPlace, sessionId: string): Promise<SessionOverlap[]> {
  const own = place.sessions.find(({ id }) => id === sessionId)
  const mine = own && (await workOf(place, own))
  if (mine === undefined) return []
  const recent = place.sessions
    .filter(({ id, shelf }) => id !== sessionId && shelf !== 'archived')
    .toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1))
    .slice(0, MAX_SESSIONS)
  const works = new Map<string, SessionWork>()
  for (const session of recent) {
    const work = await workOf(place, session)
    if (work !== undefined) works.set(session.id, work)
  }
  const found = await findOverlaps(place.repository, {
    stateFolder: place.stateFolder,
    own: mine,
    others: [...works.values()],
  })
  const shown: SessionOverlap[] = []
  for (const { session: id, files } of found) {
    const session = recent.find(known => known.id === id)
    const inSameFolder = works.get(id)?.place === mine.place
    const inProject = files.map(({ file, ...lines }) => ({ path: withoutPrefix(place, file), ...lines }))
    shown.push({
      sessionId: id,
      title: session?.title ?? null,
      inSameFolder,
      branch: session?.worktree ? ((await place.worktrees.find(session.worktree))?.branch ?? null) : null,
      files: inSameFolder ? await linesByTurns(place, inProject, { sessionId, id }) : inProject,
    })
  }
  return shown
}

const MAX_SESSIONS = 20

/** Undefined if no turn is recorded, or the worktree is missing. */
async function workOf(place: RadarPlace, session: RadarSession): Promise<SessionWork | undefined> {
  const turns = [...(await place.trees.all(place.root, session.id)).values()]
  const last = turns.at(-1)
  if (last === undefined) return undefined
  const own = { session: session.id, tree: last.after ?? last.before }
  if (session.worktree === null) {
    const head = await headOf(place.repository)
    if (head === undefined) return undefined
    const files = await filesOf(place, session.id, turns)
    return { ...own, place: 'project', head, base: null, files, tree: (await lastTree(place)) ?? own.tree }
  }
  const worktree = await place.worktrees.find(session.worktree)
  if (worktree === undefined || worktree.state !== 'ready') return undefined
  const repository = await findRepository(path.join(worktree.folder, worktree.prefix))
  const head = repository && (await headOf(repository))
  if (head === undefined) return undefined
  const base = worktree.baseBranch === null ? worktree.base : `refs/heads/${worktree.baseBranch}`
  return { ...own, place: worktree.id, head, base, files: null }
}

async function headOf(repository: GitRepository): Promise<string | undefined> {
  const found = await git(repository, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], {
    okCodes: [0, 1, 128],
  })
  return found.toString('utf8').trim() || undefined
}

/** The state after the latest turn of any session in the project's folder, since several work there. */
async function lastTree({ root, sessions, trees }: RadarPlace): Promise<string | undefined> {
  let latest: { at: number; tree: string } | undefined
  for (const { id, worktree } of sessions) {
    if (worktree !== null) continue
    const last = [...(await trees.all(root, id)).values()].at(-1)
    const at = last?.afterAt ?? last?.beforeAt
    if (last !== undefined && at !== undefined && at > (latest?.at ?? -1))
      latest = { at, tree: last.after ?? last.before }
  }
  return latest?.tree
}

const filesByTurns = new Map<string, Promise<Set<string>>>()
const MAX_KEPT = 200

/** The files that the turns of a session changed, relative to the root of the repository. Cached per set of turns. */
function filesOf(
  { repository, stateFolder }: RadarPlace,
  sessionId: string,
  turns: readonly { before: string; after?: string }[],
): Promise<Set<string>> {
  const key = `${sessionId} ${turns.length} ${turns.at(-1)?.after ?? ''}`
  const known = filesByTurns.get(key)
  if (known !== undefined) return known
  const { prefix } = repository
  const made = filesOfTurns(repository, { turns: [...turns], stateFolder }).then(
    files => new Set(files.map(file => (prefix === '' ? file : `${prefix}/${file}`))),
  )
  filesByTurns.set(key, made)
  for (const oldest of filesByTurns.keys()) {
    if (filesByTurns.size <= MAX_KEPT) break
    filesByTurns.delete(oldest)
  }
  made.catch(() => filesByTurns.delete(key))
  return made
}

function withoutPrefix({ repository: { prefix } }: RadarPlace, file: string): string {
  return prefix !== '' && file.startsWith(`${prefix}/`) ? file.slice(prefix.length + 1) : file
}

/**
 * Assigns lines to the two sessions by the states around their turns: in one folder the difference alone does not tell
 * who changed a line.
 */
async function linesByTurns(
  place: RadarPlace,
  files: SessionOverlap['files'],
  { sessionId, id }: { sessionId: string; id: string },
): Promise<SessionOverlap['files']> {
  const folder: BlamePlace = { ...place, folder: place.root, worktree: null, running: new Map() }
  const shown: SessionOverlap['files'] = []
  for (const [index, file] of files.entries()) {
    const blamed =
      index < MAX_BLAMED
        ? await blameProjectFile(folder, { path: file.path }).catch(() => undefined)
        : undefined
    const linesOf = (session: string): LineRange[] =>
      (blamed?.lines ?? []).flatMap(({ line, count, origin }) =>
        origin.kind === 'turns' && origin.turns.some(turn => turn.startsWith(`${session}/`))
          ? [[line, line + count - 1] as LineRange]
          : [],
      )
    shown.push({ ...file, own: linesOf(sessionId), theirs: linesOf(id) })
  }
  return shown
}

const MAX_BLAMED = 5
