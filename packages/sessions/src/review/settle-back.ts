import {
  type MoveCause,
  type Settle,
  type TreesOfTurn,
  type TurnTreePair,
  type WorkPlace,
  workspaceError,
} from '@chirality/workspaces'
import type { LiveSession } from '../status/live-session.ts'
import type { StoredSession } from '../store/stored-session.ts'
import type { ReviewHost } from './review-host.ts'
import { tellDone } from './tell-done.ts'

/**
 * The conversation of a move of files: going back makes a session that ends before the turn and archives the one before,
 * its undo brings the first one back. Done again after a kill, it leads to the same state.
 */
export async function settleBack(
  { host, place }: { host: ReviewHost; place: WorkPlace },
  sessionId: string,
  { cause, direction }: Parameters<Settle>[0],
): Promise<void> {
  if (cause.kind !== 'back') return
  const session = await host.session(sessionId)
  const later = await host.store.get(cause.sessionId)
  // The move names it, and a ref can be made by anybody.
  if (later !== undefined && later.forkedFrom?.sessionId !== sessionId)
    throw workspaceError('review-refused', `The session ${cause.sessionId} did not come from ${sessionId}.`)
  if (direction === 'undo') {
    if (later !== undefined) await shelve(host, later, 'archived')
    await shelve(host, session.stored, null)
    await tellDone(host, session, {
      shown: 'Going back was undone: files and conversation are as they were.',
      note: 'The user undid going back: the files are as you left them.',
    })
    return
  }
  const { prompt } = saidSince(session, cause.turnId)
  await shelve(host, later ?? (await forkBefore(host, session, { cause, place })), null)
  await shelve(host, session.stored, 'archived')
  await tellDone(host, session, {
    shown: `The conversation went back to before "${prompt.slice(0, 80)}" and goes on in another session.`,
    note: 'The user went back to an earlier point, and the files too.',
  })
}

async function forkBefore(
  host: ReviewHost,
  session: LiveSession,
  { cause, place }: { cause: MoveCause & { kind: 'back' }; place: WorkPlace },
): Promise<StoredSession> {
  const { startSeq } = saidSince(session, cause.turnId)
  const { earlier } = turnsFrom(place, cause.turnId)
  const { title, worktree } = session.stored
  // First: without it, the trees of a session that exists would be missing.
  await place.adoptTurns(cause.sessionId, earlier)
  return host.forkSession(session.id, {
    id: cause.sessionId,
    atSeq: startSeq - 1,
    worktree,
    ...(title === null ? {} : { title }),
  })
}

/** Where a person put a session stays, except for the archive. */
async function shelve(host: ReviewHost, { id, shelf }: StoredSession, to: 'archived' | null): Promise<void> {
  if ((shelf === 'archived') !== (to === 'archived')) await host.shelveSession(id, to)
}

/**
 * The files around this turn and all later ones. A turn whose end was not kept ends with the files of the next one, or
 * with those of now: somebody else may have changed them until then.
 */
export async function turnsBack(place: WorkPlace, turnId: string): Promise<TurnTreePair[]> {
  const { later } = turnsFrom(place, turnId)
  const trees = later.map(([, turn]) => turn)
  const now = trees.at(-1)?.after === undefined ? await place.snapshot() : undefined
  return trees.map(({ before, after, isLate = false }, index) => ({
    before,
    after: after ?? trees[index + 1]?.before ?? now ?? before,
    isLate: isLate || after === undefined,
  }))
}

interface Turns {
  earlier: Map<string, TreesOfTurn>
  /** This turn and all after it. */
  later: [string, TreesOfTurn][]
}

function turnsFrom({ turns }: WorkPlace, turnId: string): Turns {
  const all = [...turns]
  const at = all.findIndex(([id]) => id === turnId)
  const missing =
    'The files before this turn are not kept, so it cannot be gone back to. Nothing was changed.'
  if (at === -1) throw workspaceError('turn-missing', missing)
  return { earlier: new Map(all.slice(0, at)), later: all.slice(at) }
}

export interface Said {
  /** Of its `turn:start`. */
  startSeq: number
  prompt: string
  commands: number
  /** This turn and all later ones. */
  turnIds: ReadonlySet<string>
}

export function saidSince({ id, log }: LiveSession, turnId: string): Said {
  let before = log.lastSeq + 1
  let commands = 0
  const turnIds = new Set<string>()
  while (before > 1) {
    const page = log.readBefore(before, PAGE)
    for (const { seq, event, turnId: of } of page.toReversed()) {
      if (event.type === 'tool:start' && event.facts?.kind === 'execute') commands += 1
      if (event.type !== 'turn:start') continue
      if (of) turnIds.add(of)
      if (of === turnId) return { startSeq: seq, prompt: event.message ?? '', commands, turnIds }
    }
    before = page[0]?.seq ?? 1
  }
  throw workspaceError('turn-missing', `Session ${id} has no turn ${turnId}.`)
}

const PAGE = 2000
