import type { LiveSession, StoredSession } from '@chirality/sessions'
import { goBack, planBack, type TurnTreePair } from '@chirality/workspaces'
import type { WorkPlace } from '../changes/turn-changes.ts'
import type { ShownBackPlan } from '../contract/review-calls.ts'
import { callError } from '../errors/call-error.ts'
import type { AppServices } from '../trpc/context.ts'
import { liveSession, storedSession } from '../trpc/live-session.ts'
import { BACK_UNDONE, BACK_WORDS, movesOf, resting } from './session-review.ts'

export interface TurnOfSession {
  sessionId: string
  turnId: string
}

export async function backPlan(
  services: AppServices,
  { sessionId, turnId }: TurnOfSession,
): Promise<ShownBackPlan> {
  const session = await liveSession(services, sessionId)
  const said = saidSince(session, turnId)
  const plan = await services.changes.inWorkFolder(session, async place => {
    const { repository, stateFolder, turns } = place
    const running = session.status.turnId
    const unkept = [...said.turnIds].filter(id => id !== running && turns.get(id)?.after === undefined)
    const back = await planBack(repository, { turns: turnsFrom(place, turnId).later, stateFolder })
    return { ...back, cannotUndo: cannotUndo(said, unkept.length) }
  })
  if (plan === undefined)
    throw callError('review-refused', 'There is no git repository here, so the files of a turn are not kept.')
  return plan
}

/**
 * Restores the files as they were before a turn, and makes a session whose conversation ends there. The session before
 * keeps all of its history and is archived, so that this can be undone.
 */
export async function goBackTo(
  services: AppServices,
  { sessionId, turnId, overwrite = [] }: TurnOfSession & { overwrite?: string[] | undefined },
): Promise<{ session: StoredSession; moveId: string | null; prompt: string }> {
  const { session, inFolder } = await resting(services, sessionId)
  const { startSeq, prompt } = saidSince(session, turnId)
  // An agent that is kept would write on in its conversation.
  await session.kill()
  const { move, earlier } = await inFolder(async place => {
    await movesOf(services, session, place)
    const { earlier, later } = turnsFrom(place, turnId)
    const { repository, stateFolder } = place
    const what = `${BACK_WORDS}${prompt.replace(/\s+/g, ' ').slice(0, 80)}`
    const back = { turns: later, stateFolder, overwrite, scope: sessionId, what }
    return { move: await goBack(repository, back), earlier }
  })
  const { title, worktree } = session.stored
  const fork = await services.host.forkSession(sessionId, {
    atSeq: startSeq - 1,
    ...(title === null ? {} : { title }),
    worktree,
  })
  await inFolder(place => place.adoptTurns(fork.id, earlier))
  await services.host.shelveSession(sessionId, 'archived')
  await session.tellAgent({
    shown: `The conversation went back to before "${prompt.slice(0, 80)}" and goes on in another session.`,
    note: 'The user went back to an earlier point, and the files too.',
  })
  return { session: fork, moveId: move?.id ?? null, prompt }
}

/** The files and the session as they were before going back. */
export async function undoBack(
  services: AppServices,
  { sessionId, from, moveId }: { sessionId: string; from: string; moveId: string | null },
): Promise<StoredSession> {
  const later = await storedSession(services, sessionId)
  if (later.forkedFrom?.sessionId !== from)
    throw callError(
      'review-refused',
      `The session ${sessionId} did not come from ${from}. Nothing was changed.`,
    )
  await resting(services, sessionId)
  const { session, inFolder } = await resting(services, from)
  if (moveId !== null)
    await inFolder(async place => {
      const moves = await movesOf(services, session, place)
      // The files may be back already: `undo` of this move is offered in the session before.
      const known = (await moves.list()).find(({ id }) => id === moveId)
      if (known?.state !== 'undone') await moves.undo(moveId)
    })
  await services.host.shelveSession(sessionId, 'archived')
  const restored = await services.host.shelveSession(from, null)
  await session.tellAgent({
    shown: 'Going back was undone: files and conversation are as they were.',
    note: BACK_UNDONE,
  })
  return restored
}

interface Turns {
  earlier: Map<string, TurnTreePair>
  later: TurnTreePair[]
}

function turnsFrom({ turns }: WorkPlace, turnId: string): Turns {
  const all = [...turns]
  const at = all.findIndex(([id]) => id === turnId)
  const missing =
    'The files before this turn are not kept, so it cannot be gone back to. Nothing was changed.'
  if (at === -1) throw callError('turn-missing', missing)
  const complete = all.map(([id, { before, after }]) => [id, { before, after: after ?? before }] as const)
  return { earlier: new Map(complete.slice(0, at)), later: complete.slice(at).map(([, trees]) => trees) }
}

interface Said {
  /** Of its `turn:start`. */
  startSeq: number
  prompt: string
  commands: number
  /** This turn and all later ones. */
  turnIds: ReadonlySet<string>
}

function saidSince({ id, log }: LiveSession, turnId: string): Said {
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
  throw callError('turn-missing', `Session ${id} has no turn ${turnId}.`)
}

/** Commits, pushes and background programs are not looked up: the words say what cannot be undone in any case. */
function cannotUndo({ commands }: Said, unkept: number): string[] {
  const ran = commands === 1 ? '1 command' : `${commands} commands`
  return [
    ...(unkept > 0
      ? [
          unkept === 1
            ? 'The files around 1 turn since then were not kept: what only this turn changed stays.'
            : `The files around ${unkept} turns since then were not kept: what only those turns changed stays.`,
        ]
      : []),
    ...(commands > 0
      ? [
          `The agent ran ${ran}. Effects outside of this folder, and files that git ignores, stay as they are.`,
        ]
      : []),
    'Commits that were made since, and what was pushed, stay. Only the files go back.',
    'Programs that still run in the background go on.',
  ]
}

const PAGE = 2000
