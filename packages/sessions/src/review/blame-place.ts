import {
  type BlamePlace,
  findRepository,
  type RadarPlace,
  stateFolderOf,
  TurnTrees,
  turnName,
} from '@chirality/workspaces'
import { SessionStore } from '../store/session-store.ts'
import type { StoredSession } from '../store/stored-session.ts'
import type { ReviewHost } from './review-host.ts'
import { factsOfTurns } from './turn-facts.ts'

/** A folder of a project: its own, or the same folder in a worktree. */
export interface ProjectPlace {
  root: string
  folder: string
  /** The id of that worktree. */
  worktree: string | null
}

export type OpenedPlace = BlamePlace & { sessions: StoredSession[] }

/** For a process that does not have the project: which turns run now is not known. Undefined without a git repository. */
export async function openBlamePlace(place: ProjectPlace): Promise<OpenedPlace | undefined> {
  const { root, folder } = place
  const repository = await findRepository(folder)
  if (repository === undefined) return undefined
  const sessions = await allOf(new SessionStore(), root)
  const stateFolder = await stateFolderOf(root)
  const known = { sessions, trees: new TurnTrees(), running: new Map(), turnFacts: factsOfTurns(root) }
  return { ...place, repository, stateFolder, ...known }
}

/** For a process that does not have the project. Undefined without a git repository. */
export async function openRadar(
  root: string,
  worktrees: RadarPlace['worktrees'],
): Promise<RadarPlace | undefined> {
  const place = await openBlamePlace({ root, folder: root, worktree: null })
  return place && { ...place, worktrees }
}

/** Works on who wrote the lines in a folder of a project. Undefined without a git repository. */
export async function inBlamePlace<T>(
  host: Pick<ReviewHost, 'store' | 'changes' | 'statuses'>,
  place: ProjectPlace,
  work: (place: BlamePlace) => Promise<T>,
): Promise<T | undefined> {
  const sessions = await allOf(host.store, place.root)
  const running = new Map(
    host.statuses().flatMap(({ sessionId, turnId, phase }) => {
      return turnId === null || phase === 'idle' ? [] : [[sessionId, turnName(sessionId, turnId)] as const]
    }),
  )
  const turnFacts = factsOfTurns(place.root)
  return host.changes.inFolder(place, found => work({ ...place, ...found, sessions, running, turnFacts }))
}

/** Works on what the sessions of a project changed; `isShown` leaves sessions out. Undefined without a git repository. */
export async function inRadar<T>(
  host: Pick<ReviewHost, 'store' | 'changes' | 'worktrees'>,
  { root, isShown }: { root: string; isShown: (session: StoredSession) => boolean },
  work: (place: RadarPlace) => Promise<T>,
): Promise<T | undefined> {
  const sessions = (await allOf(host.store, root)).filter(isShown)
  const known = { root, sessions, worktrees: host.worktrees, turnFacts: factsOfTurns(root) }
  return host.changes.inFolder({ root, folder: root }, found => work({ ...known, ...found }))
}

async function allOf(store: Pick<SessionStore, 'page'>, root: string): Promise<StoredSession[]> {
  return (await store.page({ projectRoot: root, limit: Number.POSITIVE_INFINITY })).sessions
}
