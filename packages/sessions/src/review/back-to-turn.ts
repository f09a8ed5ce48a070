import { randomUUID } from 'node:crypto'
import { type BackPlan, goBack, planBack, workspaceError } from '@chirality/workspaces'
import type { LiveSession } from '../status/live-session.ts'
import type { StoredSession } from '../store/stored-session.ts'
import { atRest } from './at-rest.ts'
import { inWorkFolder, type ReviewHost } from './review-host.ts'
import { type Said, saidSince, turnsBack } from './settle-back.ts'

/** What going back before a turn would do, for a person. */
export interface ShownBackPlan extends Pick<BackPlan, 'files' | 'changedSince'> {
  /** What stays as it is, in words. */
  cannotUndo: string[]
}

export async function backPlan(
  host: ReviewHost,
  session: LiveSession,
  turnId: string,
): Promise<ShownBackPlan> {
  const said = saidSince(session, turnId)
  const plan = await inWorkFolder(host, session, async place => {
    const { repository, stateFolder, turns } = place
    const running = session.status.turnId
    const ended = [...said.turnIds].filter(id => id !== running)
    const unkept = ended.filter(id => !turns.has(id))
    const endless = ended.filter(id => turns.has(id) && turns.get(id)?.after === undefined)
    const { files, changedSince, ...stays } = await planBack(repository, {
      turns: await turnsBack(place, turnId),
      stateFolder,
    })
    const late = [...said.turnIds].filter(id => turns.get(id)?.isLate)
    const facts = { ...stays, unkept: unkept.length, endless: endless.length, late: late.length }
    return { files, changedSince, cannotUndo: cannotUndo(said, facts) }
  })
  if (plan === undefined)
    throw workspaceError(
      'review-refused',
      'There is no git repository here, so the files of a turn are not kept.',
    )
  return plan
}

export interface GoneBack {
  /** The conversation goes on in it. */
  session: StoredSession
  /** Null if no file had to change. */
  moveId: string | null
  /** The message that the turn began with. */
  prompt: string
  /** Files that somebody else changed while this was done: they did not go back. */
  left: string[]
}

/**
 * Restores the files as they were before a turn, and makes a session whose conversation ends there. The session before
 * keeps all of its history and is archived, so that this can be undone.
 */
export async function goBackTo(
  host: ReviewHost,
  wanted: LiveSession,
  { turnId, overwrite = [] }: { turnId: string; overwrite?: string[] | undefined },
): Promise<GoneBack> {
  const forkId = randomUUID()
  return atRest(host, wanted, async ({ session, place, moves }) => {
    const { prompt } = saidSince(session, turnId)
    const turns = await turnsBack(place, turnId)
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
        await host.deleteSession(forkId).catch((failed: unknown) => host.logFault(failed))
      throw error
    })
    const gone = await host.store.resume(forkId)
    return { session: gone, moveId: move?.id ?? null, prompt, left: move?.left ?? [] }
  })
}

/** The files and the session as they were before going back, which made the session `sessionId`. */
export async function undoBack(
  host: ReviewHost,
  from: LiveSession,
  { sessionId, moveId }: { sessionId: string; moveId: string | null },
): Promise<StoredSession> {
  await atRest(host, from, async ({ moves }) => {
    const move = (await moves.list()).find(({ id, cause }) =>
      moveId === null ? cause.kind === 'back' && cause.sessionId === sessionId : id === moveId,
    )
    if (move?.cause.kind !== 'back' || move.cause.sessionId !== sessionId)
      throw workspaceError(
        'review-refused',
        `The session ${sessionId} did not come from going back in ${from.id}. Nothing was changed.`,
      )
    // It may be undone already, in another browser.
    if (move.state === 'done') await moves.undo(move.id)
  })
  return host.store.resume(from.id)
}

interface Stays extends Pick<BackPlan, 'repositories' | 'converted'> {
  unkept: number
  /** Turns whose files at the beginning are known, and those at the end are not. */
  endless: number
  late: number
}

/** Commits, pushes and background programs are not looked up: the words say what cannot be undone in any case. */
function cannotUndo({ commands }: Said, { unkept, endless, late, repositories, converted }: Stays): string[] {
  const ran = commands === 1 ? '1 command' : `${commands} commands`
  const turns = (count: number) => (count === 1 ? '1 turn' : `${count} turns`)
  return [
    ...(unkept > 0
      ? [`The files around ${turns(unkept)} since then were not kept: what only this changed stays.`]
      : []),
    ...(endless > 0
      ? [
          `The files at the end of ${turns(endless)} since then were not kept: who changed the files after that is not known, so they stay unless you choose them.`,
        ]
      : []),
    ...repositories.map(
      name => `${name} is a git repository of its own: nothing in it goes back, also if the agent made it.`,
    ),
    ...(converted > 0
      ? [
          `${converted === 1 ? '1 file gets' : `${converted} files get`} the line endings and filters of git: a file that had mixed ones does not get them back.`,
        ]
      : []),
    ...(late > 0
      ? [
          `When ${turns(late)} since then ended, Chirality was not running: who changed the files until it ran again is not known, so they stay unless you choose them.`,
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
