import { hasCode, type UIEvent } from '@chirality/core'
import type { LiveSession, SessionHost } from '@chirality/sessions'
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
  findRepository,
  forScope,
  gitStatus,
  headTree,
  type MergeResult,
  mergeIntoBase,
  rebaseOnBase,
  takeConflicts,
  treeAtBase,
  unfinishedMoves,
} from '@chirality/workspaces'
import type { WorkPlace } from '../changes/turn-changes.ts'
import type { FileOfTree } from '../contract/file-answers.ts'
import type { ReviewState } from '../contract/review-calls.ts'
import { callError } from '../errors/call-error.ts'
import { decode, imageType } from '../files/read-file.ts'
import type { AppServices } from '../trpc/context.ts'
import { liveSession } from '../trpc/live-session.ts'

export async function reviewState(services: AppServices, sessionId: string): Promise<ReviewState | null> {
  const session = await liveSession(services, sessionId)
  const state = await services.changes.inWorkFolder(session, async place => {
    const branches = await branchesOf(services, session)
    const uncommitted = await filesOfSession(session, place)
    return {
      branches: branches && (await stateOfBranches(place, branches)),
      proposedMessage: proposedMessage(session, uncommitted),
      hooks: await commitHooks(place.repository),
      uncommitted,
      moves: (await (await movesOf(services, session, place)).list()).filter(
        // To do it again is to go back again, with the conversation.
        ({ what, state }) => state === 'done' || !what.startsWith(BACK_WORDS),
      ),
      untold: await session.untold(),
    }
  })
  return state ?? null
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

/** What going back to before a turn is called in the list of moves. */
export const BACK_WORDS = 'Back to before: '
export const BACK_UNDONE = 'The user undid going back: the files are as you left them.'

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
  const { session, inFolder } = await resting(services, input.sessionId)
  const move = await inFolder(async place => {
    await movesOf(services, session, place)
    const trees = await treesOf(session, place, input.turnId)
    const { repository, stateFolder } = place
    return discardChanges(repository, { ...trees, stateFolder, files: input.files, scope: session.id })
  })
  await tellTaken(session, move, input.files)
  return move
}

export async function undoMove(
  services: AppServices,
  { sessionId, id, action }: { sessionId: string; id: string; action: 'undo' | 'redo' },
): Promise<FileMove> {
  const { session, inFolder } = await resting(services, sessionId)
  const move = await inFolder(async place => (await movesOf(services, session, place))[action](id))
  if (action === 'undo' && move.what.startsWith(BACK_WORDS)) {
    // Only the browser that went back knows the session that this made: from any other, this one goes on.
    if (session.stored.shelf === 'archived') await services.host.shelveSession(sessionId, null)
    await session.tellAgent({
      shown: 'Going back was undone: the files are as they were. The session that going back made stays.',
      note: BACK_UNDONE,
    })
    return move
  }
  const what = move.what.replace(/^Discarded/, action === 'undo' ? 'Brought back' : 'Discarded again:')
  await session.tellAgent({
    shown: `${what}. The agent is told with your next message.`,
    note: `The user ${action === 'undo' ? 'undid this' : 'did this again'}: "${move.what}". These files changed: ${move.files.join(', ')}`,
  })
  return move
}

export interface CommitInput {
  sessionId: string
  message: string
  files?: string[] | undefined
  hooks?: boolean | undefined
}

export async function commitWork(services: AppServices, input: CommitInput): Promise<Commit> {
  const { session, inFolder } = await resting(services, input.sessionId)
  const { message, hooks } = input
  const made = await inFolder(async place => {
    // In the folder of the project other changes may be a person's: only files that the session changed.
    const files = input.files ?? (await filesOfSession(session, place))
    return commitFiles(place.repository, place.folder, { message, files, hooks })
  })
  await session.tellAgent({
    shown: `Committed ${plural(made.files.length, 'file')} as ${made.commit.slice(0, 9)}.`,
    note: `The user committed ${made.files.join(', ')} as ${made.commit.slice(0, 9)}: ${firstLine(message)}`,
  })
  return made
}

export interface MergeInput {
  sessionId: string
  how: 'merge' | 'squash' | 'rebase'
  message?: string | undefined
}

export async function mergeWork(services: AppServices, input: MergeInput): Promise<MergeResult> {
  const { session, inFolder } = await resting(services, input.sessionId)
  const branches = await requireBranches(services, session)
  const { how, message = `Merge ${branches.branch}: ${session.stored.title ?? 'work of a session'}` } = input
  requireRest(services, session.status.projectRoot)
  const result = await inFolder(({ repository }) =>
    how === 'rebase'
      ? rebaseOnBase(repository, branches)
      : mergeIntoBase(repository, { ...branches, how, message }),
  )
  if (result.kind === 'merged') {
    const shown =
      how === 'rebase'
        ? `Rebased ${branches.branch} on ${branches.base}.`
        : `Merged ${branches.branch} into ${branches.base}.`
    await session.tellAgent({ shown, note: `The user did this: ${shown}` })
  }
  return result
}

/** The agent gets a message only if there is something to resolve. */
export async function handConflicts(services: AppServices, sessionId: string): Promise<{ files: string[] }> {
  const { session, inFolder } = await resting(services, sessionId)
  const branches = await requireBranches(services, session)
  const files = await inFolder(({ repository }) => takeConflicts(repository, branches))
  if (files.length > 0)
    await session.send(
      `The branch ${branches.base} was merged into this one, and these files have conflicts: ${files.join(', ')}. Resolve them so that both intentions are kept, and remove the conflict markers. Do not commit.`,
    )
  return { files }
}

/** A session whose files nobody else is changing now. */
export async function resting(services: AppServices, sessionId: string) {
  const session = await liveSession(services, sessionId)
  const { worktree, projectRoot } = session.status
  if (worktree?.folder === null)
    throw callError('worktree-missing', `The worktree ${worktree.id} of this session is not known here.`)
  requireRest(services, worktree?.folder ?? projectRoot)
  const inFolder = async <T>(work: (place: WorkPlace) => Promise<T>): Promise<T> => {
    const result = await services.changes.inWorkFolder(session, async place => ({
      done: await work({ ...place, repository: forScope(place.repository, sessionId) }),
    }))
    if (result !== undefined) return result.done
    throw callError('review-refused', 'There is no git repository here. Run git init in the project first.')
  }
  return { session, inFolder }
}

export function requireRest({ host }: Pick<AppServices, 'host'>, folder: string): void {
  const busy = host
    .statuses()
    .find(
      ({ worktree, projectRoot, phase }) => phase !== 'idle' && (worktree?.folder ?? projectRoot) === folder,
    )
  if (busy === undefined) return
  const who = busy.title === null ? 'An agent' : `The agent of "${busy.title}"`
  throw callError('busy', `${who} is at work in ${folder}. Wait for it, or stop it. Nothing was changed.`)
}

/** Finishes first what a killed server left half done. */
export async function movesOf(
  { host }: Pick<AppServices, 'host'>,
  { id, status }: Pick<LiveSession, 'id' | 'status'>,
  { repository }: Pick<WorkPlace, 'repository'>,
): Promise<FileMoves> {
  await recoverMoves(host, status.projectRoot)
  return new FileMoves(repository, id)
}

/**
 * Finishes what a killed server left half done in the folders of a project that this one owns: once, before the first
 * review or turn. Never rejects, and is not tried again: a later try could meet a move that is being made.
 */
export function recoverMoves(host: SessionHost, projectRoot: string): Promise<void> {
  const recovered = RECOVERED.get(host) ?? new Map<string, Promise<void>>()
  RECOVERED.set(host, recovered)
  const known =
    recovered.get(projectRoot) ??
    finishMoves(host, projectRoot).catch((error: unknown) => host.logFault(error))
  recovered.set(projectRoot, known)
  return known
}

const RECOVERED = new WeakMap<SessionHost, Map<string, Promise<void>>>()

async function finishMoves(host: SessionHost, projectRoot: string): Promise<void> {
  const repository = await findRepository(projectRoot)
  if (repository === undefined) return
  const finish = async (sessionId: string) => {
    const session = await host.store.get(sessionId).catch(() => undefined)
    if (session?.projectRoot !== projectRoot) return
    const worktree = session.worktree === null ? undefined : await host.worktrees.find(session.worktree)
    const place = session.worktree === null ? repository : worktree && (await findRepository(worktree.folder))
    if (place !== undefined) await new FileMoves(place, sessionId).recover()
  }
  // One that cannot be finished must not keep the others half done.
  for (const sessionId of await unfinishedMoves(repository))
    await finish(sessionId).catch((error: unknown) => host.logFault(error))
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

async function branchesOf(services: AppServices, session: LiveSession): Promise<Branches | null> {
  const { worktree: shown } = session.status
  const worktree = shown && (await services.host.worktrees.find(shown.id))
  if (worktree === undefined || worktree.baseBranch === null) return null
  return { branch: worktree.branch, base: worktree.baseBranch }
}

async function requireBranches(services: AppServices, session: LiveSession): Promise<Branches> {
  const branches = await branchesOf(services, session)
  if (branches !== null) return branches
  const why =
    session.status.worktree === undefined
      ? 'This session works in the folder of the project and has no branch of its own.'
      : 'The worktree of this session was made from a commit, not from a branch.'
  throw callError('review-refused', `${why} Merge with git.`)
}

/** Made of the title, the messages and the files: no model is asked. */
function proposedMessage({ stored, log }: LiveSession, files: readonly string[]): string {
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
  session: LiveSession,
  move: FileMove,
  files: readonly DiscardedFile[],
): Promise<void> {
  const hunks = files.flatMap(({ path, hunks: some = [] }) =>
    some.map(({ lines }) => [path, ...lines].join('\n')),
  )
  const detail = hunks.length === 0 ? '' : ` What was taken back:\n${hunks.join('\n').slice(0, 1500)}`
  await session.tellAgent({
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
