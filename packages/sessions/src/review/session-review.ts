import { hasCode, type UIEvent } from '@chirality/core'
import {
  type Branches,
  type BranchState,
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
  type MovedSubmodule,
  mergeIntoBase,
  movedSubmodules,
  rebaseOnBase,
  remotesOf,
  takeConflicts,
  treeAtBase,
  type WorkPlace,
  workspaceError,
} from '@chirality/workspaces'
import type { LiveSession } from '../status/live-session.ts'
import { type AtRest, atRest } from './at-rest.ts'
import { inWorkFolder, type ReviewHost } from './review-host.ts'
import { tellDone } from './tell-done.ts'

/** Branch, base, what is not committed, and what was taken back. */
export interface ReviewState {
  /** Null if the session works in the folder of the project, or one of the branches is gone. */
  branches: BranchState | null
  /** For a commit, made of the conversation without a model. */
  proposedMessage: string
  /** The hooks that a commit would run, if they are allowed. */
  hooks: string[]
  /** Files that a commit of this session would have. */
  uncommitted: string[]
  /** At another commit than the last commit names. They are not committed or taken back here. */
  submodules?: MovedSubmodule[]
  /** Where a branch can be pushed to. */
  remotes: string[]
  /** What was taken back, newest first. */
  moves: FileMove[]
  /** What the agent is told with the next message. */
  untold: string[]
}

/** Null without git. */
export async function reviewState(host: ReviewHost, session: LiveSession): Promise<ReviewState | null> {
  const state = await inWorkFolder(host, session, async place => {
    const branches = await branchesOf(host, session)
    const uncommitted = await filesOfSession(session, place)
    const submodules = await movedSubmodules(place.repository).catch(() => [])
    return {
      branches: branches && (await stateOfBranches(place, branches)),
      proposedMessage: proposedMessage(session, uncommitted),
      hooks: await commitHooks(place.repository),
      remotes: await remotesOf(place.repository),
      uncommitted,
      ...(submodules.length === 0 ? {} : { submodules }),
      moves: await movesOf(host, session, place),
      untold: await session.untold(),
    }
  })
  return state ?? null
}

/** After what a killed server left half done is finished. Newest first. */
async function movesOf(
  host: ReviewHost,
  { id, status }: LiveSession,
  { repository }: WorkPlace,
): Promise<FileMove[]> {
  await host.movesRecovered(status.projectRoot)
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

/** All that the session's branch has and its base has not, committed or not. Null without a branch of its own. */
export async function branchDiff(host: ReviewHost, session: LiveSession): Promise<Changes | null> {
  const branches = await branchesOf(host, session)
  if (branches === null) return null
  const changes = await inWorkFolder(host, session, async place => {
    const { repository, stateFolder, snapshot } = place
    return diffTrees(repository, {
      from: await treeAtBase(repository, branches),
      to: await snapshot(),
      stateFolder,
    })
  })
  return changes ?? null
}

export interface ChangedFileInput {
  turnId?: string | undefined
  since?: 'base' | undefined
  path: string
  side: 'old' | 'new'
}

/** A changed file as it was, or as it became. Undefined if there is no such file on this side. */
export async function changedFile(
  host: ReviewHost,
  session: LiveSession,
  { turnId, since, path, side }: ChangedFileInput,
): ReturnType<typeof fileOfTree> {
  return await inWorkFolder(host, session, async place => {
    const { repository, stateFolder } = place
    const ofBase = async () => treeAtBase(repository, await requireBranches(host, session))
    const trees = await treesOf(session, place, turnId)
    const from = since === 'base' ? await ofBase() : trees.from
    return fileOfTree(repository, { tree: side === 'old' ? from : trees.to, path, stateFolder })
  })
}

export interface DiscardInput {
  turnId?: string | undefined
  files: DiscardedFile[]
}

/** Takes changes back in the work folder, whole files or single hunks. The agent is told with its next message. */
export async function discard(host: ReviewHost, wanted: LiveSession, input: DiscardInput): Promise<FileMove> {
  return atRest(host, wanted, async ({ session, place }) => {
    const trees = await treesOf(session, place, input.turnId)
    const { repository, stateFolder } = place
    const { files } = input
    const move = await discardChanges(repository, { ...trees, stateFolder, files, scope: session.id })
    await tellTaken(host, session, { move, files })
    return move
  })
}

/** Brings back what was taken back, or takes it again. */
export async function undoMove(
  host: ReviewHost,
  wanted: LiveSession,
  { id, action }: { id: string; action: 'undo' | 'redo' },
): Promise<FileMove> {
  return atRest(host, wanted, async ({ session, moves }) => {
    const known = (await moves.list()).find(move => move.id === id)
    if (known?.cause.kind === 'back' && action === 'redo') await requireKept(host, known.cause.sessionId)
    const move = await moves[action](id)
    // With the conversation, which says so itself.
    if (move.cause.kind === 'back') return move
    const what = move.what.replace(/^Discarded/, action === 'undo' ? 'Brought back' : 'Discarded again:')
    await tellDone(host, session, {
      shown: `${what}. The agent is told with your next message.`,
      note: `The user ${action === 'undo' ? 'undid this' : 'did this again'}: "${move.what}". These files changed: ${move.files.join(', ')}`,
    })
    return move
  })
}

async function requireKept(host: ReviewHost, sessionId: string): Promise<void> {
  try {
    host.moves.requireKept(sessionId)
    await host.store.resume(sessionId)
  } catch {
    throw workspaceError(
      'review-refused',
      'The session that going back made is deleted. Go back again instead. Nothing was changed.',
    )
  }
}

export interface CommitInput {
  message: string
  files?: string[] | undefined
  hooks?: boolean | undefined
}

export async function commitWork(host: ReviewHost, wanted: LiveSession, input: CommitInput): Promise<Commit> {
  return atRest(host, wanted, async ({ session, place }) => {
    const { message, hooks } = input
    // In the folder of the project other changes may be a person's: only files that the session changed.
    const files = input.files ?? (await filesOfSession(session, place))
    const made = await commitFiles(place.repository, place.folder, { message, files, hooks })
    await tellDone(host, session, {
      shown: `Committed ${plural(made.files.length, 'file')} as ${made.commit.slice(0, 9)}.`,
      note: `The user committed ${made.files.join(', ')} as ${made.commit.slice(0, 9)}: ${firstLine(message)}`,
    })
    return made
  })
}

export interface MergeInput {
  how: 'merge' | 'squash' | 'rebase'
  message?: string | undefined
}

/** Into the base branch; `rebase` puts the session's branch on top of it instead. */
export async function mergeWork(
  host: ReviewHost,
  wanted: LiveSession,
  input: MergeInput,
): Promise<MergeResult> {
  const merge = async ({ session, place: { repository } }: AtRest) => {
    const branches = await requireBranches(host, session)
    const { branch, base } = branches
    const { how, message = `Merge ${branch}: ${session.stored.title ?? 'work of a session'}` } = input
    const result =
      how === 'rebase'
        ? await rebaseOnBase(repository, branches)
        : await mergeIntoBase(repository, { ...branches, how, message })
    if (result.kind === 'merged') {
      const shown = how === 'rebase' ? `Rebased ${branch} on ${base}.` : `Merged ${branch} into ${base}.`
      await tellDone(host, session, { shown, note: `The user did this: ${shown}` })
    }
    return result
  }
  return atRest(host, wanted, merge, [wanted.status.projectRoot])
}

/**
 * Merges the base into the session's branch, and asks the agent to resolve the conflicts. It gets a message only if there
 * are some.
 */
export async function handConflicts(host: ReviewHost, session: LiveSession): Promise<{ files: string[] }> {
  const { base, files } = await atRest(host, session, async ({ place }) => {
    const branches = await requireBranches(host, session)
    return { base: branches.base, files: await takeConflicts(place.repository, branches) }
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
    throw workspaceError(
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

export async function branchesOf(
  host: Pick<ReviewHost, 'worktrees'>,
  session: LiveSession,
): Promise<Branches | null> {
  const { worktree: shown } = session.status
  const worktree = shown && (await host.worktrees.find(shown.id))
  if (worktree === undefined || worktree.baseBranch === null) return null
  return { branch: worktree.branch, base: worktree.baseBranch }
}

export async function requireBranches(
  host: Pick<ReviewHost, 'worktrees'>,
  session: LiveSession,
): Promise<Branches> {
  const branches = await branchesOf(host, session)
  if (branches !== null) return branches
  const why =
    session.status.worktree === undefined
      ? 'This session works in the folder of the project and has no branch of its own.'
      : 'The worktree of this session was made from a commit, not from a branch.'
  throw workspaceError('review-refused', `${why} Merge with git.`)
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
  host: ReviewHost,
  session: LiveSession,
  { move, files }: { move: FileMove; files: readonly DiscardedFile[] },
): Promise<void> {
  const hunks = files.flatMap(({ path, hunks: some = [] }) =>
    some.map(({ lines }) => [path, ...lines].join('\n')),
  )
  const detail = hunks.length === 0 ? '' : ` What was taken back:\n${hunks.join('\n').slice(0, 1500)}`
  await tellDone(host, session, {
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
