import { hasCode, type UIEvent } from '@chirality/core'
import type { LiveSession } from '@chirality/sessions'
import {
  type Branches,
  branchState,
  type Changes,
  type Commit,
  commitFiles,
  commitHooks,
  type DiscardedFile,
  diffTrees,
  discardChanges,
  type FileMove,
  FileMoves,
  fileOfTree,
  filesOfTurns,
  gitStatus,
  headTree,
  type MergeResult,
  mergeIntoBase,
  movedSubmodules,
  rebaseOnBase,
  remotesOf,
  takeConflicts,
  treeAtBase,
} from '@chirality/workspaces'
import type { WorkPlace } from '../changes/turn-changes.ts'
import type { FileOfTree } from '../contract/file-answers.ts'
import type { ReviewState } from '../contract/review-calls.ts'
import { callError } from '../errors/call-error.ts'
import { decode, imageType } from '../files/read-file.ts'
import type { AppServices } from '../trpc/context.ts'
import { liveSession, storedSession } from '../trpc/live-session.ts'
import { type AtRest, atRest, recoverMoves } from './at-rest.ts'
import { tellDone } from './tell-done.ts'

export async function reviewState(services: AppServices, sessionId: string): Promise<ReviewState | null> {
  const session = await liveSession(services, sessionId)
  const state = await services.changes.inWorkFolder(session, async place => {
    const branches = await branchesOf(services, session)
    const uncommitted = await filesOfSession(session, place)
    const submodules = await movedSubmodules(place.repository, await headTree(place.repository)).catch(
      () => [],
    )
    return {
      branches: branches && (await stateOfBranches(place, branches)),
      proposedMessage: proposedMessage(session, uncommitted),
      hooks: await commitHooks(place.repository),
      remotes: await remotesOf(place.repository),
      uncommitted,
      ...(submodules.length === 0 ? {} : { submodules }),
      moves: await movesOf(services, session, place),
      untold: await session.untold(),
    }
  })
  return state ?? null
}

/** After what a killed server left half done is finished. Newest first. */
async function movesOf(
  services: AppServices,
  { id, status }: LiveSession,
  { repository }: WorkPlace,
): Promise<FileMove[]> {
  await recoverMoves(services, status.projectRoot)
  const moves = await new FileMoves(repository, id).list()
  // The way to repeat going back is to go back again: it shows first what it does.
  return moves.filter(({ cause, state }) => state === 'done' || cause.kind !== 'back')
}

/** Null if one of them is gone: it was renamed or deleted, and the rest can still be done. */
async function stateOfBranches(
  { repository }: Pick<WorkPlace, 'repository'>,
  branches: Branches,
): Promise<ReviewState['branches']> {
  return branchState(repository, branches).catch((error: unknown) => {
    if (hasCode(error, 'review-refused')) return null
    throw error
  })
}

export async function branchDiff(services: AppServices, sessionId: string): Promise<Changes | null> {
  const session = await liveSession(services, sessionId)
  const branches = await branchesOf(services, session)
  if (branches === null) return null
  const changes = await services.changes.inWorkFolder(session, async place => {
    const { repository, stateFolder, snapshot } = place
    return diffTrees(repository, {
      ...{ from: await treeAtBase(repository, branches), to: await snapshot(), stateFolder },
    })
  })
  return changes ?? null
}

export interface ChangedFileInput {
  sessionId: string
  turnId?: string | undefined
  since?: 'base' | undefined
  path: string
  side: 'old' | 'new'
}

export async function changedFile(
  services: AppServices,
  { sessionId, turnId, since, path, side }: ChangedFileInput,
): Promise<FileOfTree | null> {
  const session = await liveSession(services, sessionId)
  const found = await services.changes.inWorkFolder(session, async place => {
    const { repository, stateFolder } = place
    const ofBase = async () => treeAtBase(repository, await requireBranches(services, session))
    const trees = await treesOf(session, place, turnId)
    const from = since === 'base' ? await ofBase() : trees.from
    return fileOfTree(repository, { tree: side === 'old' ? from : trees.to, path, stateFolder })
  })
  if (found === undefined) return null
  const { bytes, sizeBytes } = found
  const mediaType = imageType(path)
  if (bytes !== null && mediaType !== undefined)
    return { kind: 'image', mediaType, base64: bytes.toString('base64') }
  const text = bytes === null ? undefined : decode(bytes, false)
  return text === undefined ? { kind: 'other', sizeBytes } : { kind: 'text', text }
}

export interface DiscardInput {
  sessionId: string
  turnId?: string | undefined
  files: DiscardedFile[]
}

export async function discard(services: AppServices, input: DiscardInput): Promise<FileMove> {
  return atRest(services, input.sessionId, async ({ session, place }) => {
    const trees = await treesOf(session, place, input.turnId)
    const { repository, stateFolder } = place
    const { files } = input
    const move = await discardChanges(repository, { ...trees, stateFolder, files, scope: session.id })
    await tellTaken(services, session, { move, files })
    return move
  })
}

export async function undoMove(
  services: AppServices,
  { sessionId, id, action }: { sessionId: string; id: string; action: 'undo' | 'redo' },
): Promise<FileMove> {
  return atRest(services, sessionId, async ({ session, moves }) => {
    const known = (await moves.list()).find(move => move.id === id)
    if (known?.cause.kind === 'back' && action === 'redo') await requireKept(services, known.cause.sessionId)
    const move = await moves[action](id)
    // With the conversation, which says so itself.
    if (move.cause.kind === 'back') return move
    const what = move.what.replace(/^Discarded/, action === 'undo' ? 'Brought back' : 'Discarded again:')
    await tellDone(services, session, {
      shown: `${what}. The agent is told with your next message.`,
      note: `The user ${action === 'undo' ? 'undid this' : 'did this again'}: "${move.what}". These files changed: ${move.files.join(', ')}`,
    })
    return move
  })
}

async function requireKept(services: AppServices, sessionId: string): Promise<void> {
  await storedSession(services, sessionId).catch(() => {
    throw callError(
      'review-refused',
      'The session that going back made is deleted. Go back again instead. Nothing was changed.',
    )
  })
}

export interface CommitInput {
  sessionId: string
  message: string
  files?: string[] | undefined
  hooks?: boolean | undefined
}

export async function commitWork(services: AppServices, input: CommitInput): Promise<Commit> {
  return atRest(services, input.sessionId, async ({ session, place }) => {
    const { message, hooks } = input
    // In the folder of the project other changes may be a person's: only files that the session changed.
    const files = input.files ?? (await filesOfSession(session, place))
    const made = await commitFiles(place.repository, place.folder, { message, files, hooks })
    await tellDone(services, session, {
      shown: `Committed ${plural(made.files.length, 'file')} as ${made.commit.slice(0, 9)}.`,
      note: `The user committed ${made.files.join(', ')} as ${made.commit.slice(0, 9)}: ${firstLine(message)}`,
    })
    return made
  })
}

export interface MergeInput {
  sessionId: string
  how: 'merge' | 'squash' | 'rebase'
  message?: string | undefined
}

export async function mergeWork(services: AppServices, input: MergeInput): Promise<MergeResult> {
  const merge = async ({ session, place: { repository } }: AtRest) => {
    const branches = await requireBranches(services, session)
    const { branch, base } = branches
    const { how, message = `Merge ${branch}: ${session.stored.title ?? 'work of a session'}` } = input
    const result =
      how === 'rebase'
        ? await rebaseOnBase(repository, branches)
        : await mergeIntoBase(repository, { ...branches, how, message })
    if (result.kind === 'merged') {
      const shown = how === 'rebase' ? `Rebased ${branch} on ${base}.` : `Merged ${branch} into ${base}.`
      await tellDone(services, session, { shown, note: `The user did this: ${shown}` })
    }
    return result
  }
  return atRest(services, input.sessionId, merge, ({ status }) => [status.projectRoot])
}

/** The agent gets a message only if there is something to resolve. */
export async function handConflicts(services: AppServices, sessionId: string): Promise<{ files: string[] }> {
  const { session, base, files } = await atRest(services, sessionId, async ({ session, place }) => {
    const branches = await requireBranches(services, session)
    return { session, base: branches.base, files: await takeConflicts(place.repository, branches) }
  })
  if (files.length > 0)
    await session.send(
      `The branch ${base} was merged into this one, and these files have conflicts: ${files.join(', ')}. Resolve them so that both intentions are kept, and remove the conflict markers. Do not commit.`,
    )
  return { files }
}

async function treesOf(
  session: LiveSession,
  { repository, turns, snapshot }: WorkPlace,
  turnId: string | undefined,
): Promise<{ from: string; to: string }> {
  if (turnId === undefined) return { from: await headTree(repository), to: await snapshot() }
  const trees = turns.get(turnId)
  if (trees === undefined)
    throw callError(
      'turn-missing',
      `The files before turn ${turnId} of session ${session.id} are not kept. Nothing was changed.`,
    )
  return { from: trees.before, to: trees.after ?? (await snapshot()) }
}

/** What a commit of this session has: in a worktree everything, in the project's folder what its turns changed. */
async function filesOfSession(
  session: LiveSession,
  { folder, repository, stateFolder, turns }: WorkPlace,
): Promise<string[]> {
  const changed = ((await gitStatus(folder))?.files ?? []).map(({ path }) => path).sort()
  if (session.status.worktree !== undefined || changed.length === 0) return changed
  const own = new Set(await filesOfTurns(repository, { turns: [...turns.values()], stateFolder }))
  return changed.filter(file => own.has(file))
}

export async function branchesOf(services: AppServices, session: LiveSession): Promise<Branches | null> {
  const { worktree: shown } = session.status
  const worktree = shown && (await services.host.worktrees.find(shown.id))
  if (worktree === undefined || worktree.baseBranch === null) return null
  return { branch: worktree.branch, base: worktree.baseBranch }
}

export async function requireBranches(services: AppServices, session: LiveSession): Promise<Branches> {
  const branches = await branchesOf(services, session)
  if (branches !== null) return branches
  const why =
    session.status.worktree === undefined
      ? 'This session works in the folder of the project and has no branch of its own.'
      : 'The worktree of this session was made from a commit, not from a branch.'
  throw callError('review-refused', `${why} Merge with git.`)
}

/** Made of the title, the messages and the files: no model is asked. */
export function proposedMessage({ stored, log }: LiveSession, files: readonly string[]): string {
  const messages: string[] = []
  let before = log.lastSeq + 1
  for (let pages = 0; pages < MAX_PAGES && before > 1; pages += 1) {
    const page = log.readBefore(before, PAGE)
    const sent = page.flatMap(({ event }) => messageIn(event))
    messages.unshift(...sent)
    before = page[0]?.seq ?? 1
  }
  const [first = 'Work of a session'] = messages
  const subject = firstLine(stored.title ?? first).slice(0, 72)
  const prompts = messages.slice(-MAX_PROMPTS).map(message => `- ${firstLine(message).slice(0, 200)}`)
  const list = files.length > MAX_LISTED ? `${files.length} files` : files.join(', ')
  return [subject, prompts.join('\n'), ...(list === '' ? [] : [`Files: ${list}`])]
    .filter(Boolean)
    .join('\n\n')
}

function messageIn(event: UIEvent): string[] {
  return event.type === 'turn:start' && event.message ? [event.message] : []
}

const PAGE = 2000
const MAX_PAGES = 10
const MAX_PROMPTS = 10
const MAX_LISTED = 20

async function tellTaken(
  services: AppServices,
  session: LiveSession,
  { move, files }: { move: FileMove; files: readonly DiscardedFile[] },
): Promise<void> {
  const hunks = files.flatMap(({ path, hunks: some = [] }) =>
    some.map(({ lines }) => [path, ...lines].join('\n')),
  )
  const detail = hunks.length === 0 ? '' : ` What was taken back:\n${hunks.join('\n').slice(0, 1500)}`
  await tellDone(services, session, {
    shown: `${move.what}. The agent is told with your next message.`,
    note: `The user took back changes of yours and does not want them again: ${move.files.join(', ')}.${detail}`,
  })
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0]?.trim() ?? ''
}

function plural(count: number, word: string): string {
  return count === 1 ? `1 ${word}` : `${count} ${word}s`
}
