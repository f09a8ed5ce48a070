import path from 'node:path'
import type { Stamped } from './journal.ts'
import { loopError } from './loop-error.ts'
import { STORED_SETTINGS } from './loop-settings.ts'
import { foldJournal, type LoopState } from './loop-state.ts'
import type { OwnLoop } from './own-loop.ts'
import type { ReadJournal } from './read-journal.ts'

type Named = Pick<LoopState, 'loopId' | 'projectRoot'>

/**
 * The loop of a journal. With an unreadable or untrusted line it is over, with the reason, because facts may be
 * missing. Undefined if the journal belongs to another loop or project.
 */
export function loopOf(
  journal: ReadJournal,
  { loopId, projectRoot, own }: Named & { own: OwnLoop | undefined },
): LoopState | undefined {
  const why = faultIn(journal)
  const isOwn = own?.project === projectRoot
  const state =
    foldJournal(journal.entries) ??
    (isOwn && (why !== undefined || journal.altered.length > 0)
      ? unknownLoop({ loopId, projectRoot })
      : undefined)
  if (state?.loopId !== loopId || state.projectRoot !== projectRoot) return undefined
  const broken = [...journal.altered, ...(own === undefined || own.isAltered || !isOwn ? [OWN_ALTERED] : [])]
  if (why === undefined && broken.length === 0) return state
  for (const found of broken) mistrust(state, found)
  if (broken.length > 0) return state
  return { ...state, unreadable: why ?? '', end: ended(state, `Its journal ${why}`) }
}

/** State of a loop whose journal is gone. */
export function goneLoop(named: Named): LoopState {
  const state = unknownLoop(named)
  mistrust(state, 'its journal is gone')
  return state
}

/** Marks the state in place as over, until a person decides to continue with the trustworthy part. */
export function mistrust(state: LoopState, found: string): void {
  state.broken.push(found)
  state.end = ended(state, `Not all of it can be believed: ${state.broken.join('; ')}.`)
}

/** A folder of the project without an original in the user's data folder. Nothing in it is read. */
export function foreignLoop(named: Named, at: Date): LoopState {
  const list = path.join(named.projectRoot, '.chirality', 'loops', named.loopId)
  const state = { ...unknownLoop(named), list, startedAt: at.toISOString() }
  return { ...state, isForeign: true, end: ended(state, FOREIGN) }
}

function ended({ startedAt: at }: LoopState, why: string): NonNullable<LoopState['end']> {
  return { reason: 'failed', why, at }
}

function faultIn({ unreadable, fault }: ReadJournal): string | undefined {
  const [first] = unreadable
  if (fault !== undefined) return `cannot be read: ${fault}`
  if (first === undefined) return undefined
  const more = unreadable.length > 1 ? `, and ${unreadable.length - 1} more` : ''
  return `cannot be read: line ${first.line} (${first.why})${more}`
}

function unknownLoop({ loopId, projectRoot }: Named): LoopState {
  const start: Stamped = {
    type: 'loop:start',
    loopId,
    projectRoot,
    list: projectRoot,
    base: '',
    baseBranch: null,
    worktreeId: `loop-${loopId}`,
    settings: STORED_SETTINGS.parse({}),
    at: new Date(0).toISOString(),
  }
  return foldJournal([start]) as LoopState
}

/** Throws unless all facts of the loop are readable and trusted. */
export function requireReadable({ loopId, unreadable, isForeign, broken }: LoopState): void {
  if (isForeign) throw loopError('loop-refused', `The loop ${loopId} cannot be gone on with. ${FOREIGN}`)
  if (unreadable !== undefined)
    throw loopError(
      'loop-refused',
      `The journal of the loop ${loopId} ${unreadable}. Use the version of Chirality that wrote it, or start a loop on the list anew.`,
    )
  if (broken.length > 0)
    throw loopError(
      'loop-refused',
      `The files of the loop ${loopId} in your data folder are not as this machine wrote them: ${broken.join('; ')}. Look at what it did. To go on with what can still be believed: chirality loop resume ${loopId} --as-found`,
    )
}

const FOREIGN =
  'It came with the project, or from an older version: nothing in it is checked. Start a loop on its list anew.'
const OWN_ALTERED = 'own.json, which says what it may run, is gone or was changed'
