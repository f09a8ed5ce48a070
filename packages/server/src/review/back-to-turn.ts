import { randomUUID } from 'node:crypto'
import type { StoredSession } from '@chirality/sessions'
import { goBack, planBack } from '@chirality/workspaces'
import type { ShownBackPlan } from '../contract/review-calls.ts'
import { callError } from '../errors/call-error.ts'
import type { AppServices } from '../trpc/context.ts'
import { deleteForGood, liveSession, storedSession } from '../trpc/live-session.ts'
import { atRest } from './at-rest.ts'
import { type Said, saidSince, turnsFrom } from './settle-back.ts'

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
  const forkId = randomUUID()
  return atRest(services, sessionId, async ({ session, place, moves }) => {
    const { prompt } = saidSince(session, turnId)
    const { later: turns } = turnsFrom(place, turnId)
    // An agent that is kept would write on in its conversation.
    await session.kill()
    const what = `Back to before: ${prompt.replace(/\s+/g, ' ').slice(0, 80)}`
    const cause = { kind: 'back', turnId, sessionId: forkId } as const
    const back = { turns, stateFolder: place.stateFolder, overwrite, what, cause }
    const move = await goBack(place.repository, moves, back).catch(async (error: unknown) => {
      // The files are as they were again: a session that goes on from other files must not stay. A move that is still
      // listed is finished before the next one, and needs it.
      const listed = await moves.list().catch(() => undefined)
      if (listed?.every(({ cause }) => cause.kind !== 'back' || cause.sessionId !== forkId))
        await deleteForGood(services, forkId).catch((failed: unknown) => services.host.logFault(failed))
      throw error
    })
    return { session: await storedSession(services, forkId), moveId: move?.id ?? null, prompt }
  })
}

/** The files and the session as they were before going back. */
export async function undoBack(
  services: AppServices,
  { sessionId, from, moveId }: { sessionId: string; from: string; moveId: string | null },
): Promise<StoredSession> {
  await storedSession(services, sessionId)
  await atRest(services, from, async ({ moves }) => {
    const move = (await moves.list()).find(({ id, cause }) =>
      moveId === null ? cause.kind === 'back' && cause.sessionId === sessionId : id === moveId,
    )
    if (move?.cause.kind !== 'back' || move.cause.sessionId !== sessionId)
      throw callError(
        'review-refused',
        `The session ${sessionId} did not come from going back in ${from}. Nothing was changed.`,
      )
    // It may be undone already, in another browser.
    if (move.state === 'done') await moves.undo(move.id)
  })
  return storedSession(services, from)
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
