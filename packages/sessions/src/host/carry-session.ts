import { join } from 'node:path'
import { type ConversationFile, NEW_CONVERSATION } from '@chirality/core'
import { copyCarefully, StorageError, writeFileAtomic } from '@chirality/disk'
import { type CarriedWork, packWork } from '@chirality/workspaces'
import { ensureProjectFolder } from '../files/project-folder.ts'
import { requireSessionId } from '../files/session-id.ts'
import { openSessionLog, removeSessionLog } from '../log/open-logs.ts'
import { pagesAfter } from '../log/pages.ts'
import { EVENTS_FOLDER, type SessionLog } from '../log/session-log.ts'
import { notice } from '../log/turn-events.ts'
import type { QueueState } from '../queue/queue-file.ts'
import { SessionFold } from '../store/fold-session.ts'
import { formatSession, newSession, parseSession, type StoredSession } from '../store/stored-session.ts'
import type { HostContext } from '../turns/host-context.ts'
import type { Move } from '../turns/leaving-sessions.ts'
import { SessionStateFiles } from '../turns/record/session-state-files.ts'
import { type Lost, lostAfter, NOTHING_LOST } from './lost-events.ts'

/** A session on its way to another machine. The log and the bundle are files. */
export interface Parcel {
  move: Move
  session: StoredSession
  work: CarriedWork
  queue: QueueState
  notes: string[]
  conversation: ConversationFile[]
  log: string
  bundle: string
  /** The machine that had it is gone: all but the log is as it was at this event of the log. */
  cut?: Cut | undefined
}

export interface Cut {
  seq: number
}

export interface PackOptions {
  move: Move
  /** Commits that the other machine has. */
  haves: readonly string[]
  /** An existing folder for the bundle. */
  folder: string
  /** Ends it. */
  signal?: AbortSignal | undefined
}

/** Packs a session. Its agents have ended, or what they write meanwhile is packed in part. */
export async function packSession(
  { harnesses, worktrees }: HostContext,
  session: StoredSession,
  { move, haves, folder, signal }: PackOptions,
): Promise<Parcel> {
  const { id, projectRoot, claudeSessionId, harness, worktree: worktreeId } = session
  const worktree = worktreeId === null ? undefined : await worktrees.get(worktreeId)
  if (worktree !== undefined) await worktrees.requireOwn(worktree.id)
  const cwd = worktree === undefined ? projectRoot : join(worktree.folder, worktree.prefix)
  const bundle = join(folder, 'work.bundle')
  const work = await packWork({
    folder: cwd,
    haves,
    bundle,
    id: move.id,
    signal,
    ...(worktree === undefined ? {} : { base: worktree.base, baseBranch: worktree.baseBranch }),
  })
  const state = new SessionStateFiles(projectRoot, id)
  const agent = harness === null ? undefined : harnesses.getAll().find(one => one.id === harness)
  const conversation =
    claudeSessionId === null
      ? []
      : await agent?.conversationFiles?.({ nativeSessionId: claudeSessionId, cwd, projectRoot })
  return {
    move,
    session,
    work,
    bundle,
    conversation: conversation ?? [],
    queue: await state.queue.read(),
    notes: await state.notes.read(),
    log: join(await ensureProjectFolder(projectRoot, EVENTS_FOLDER), `${id}.ndjson`),
  }
}

/** Makes the session of a parcel. Called again after a crash, it goes on; the last step makes it a session of this machine. */
export async function receiveSession(
  { harnesses, worktrees, store }: HostContext,
  projectRoot: string,
  parcel: Parcel,
  onWorktree: () => void = () => {},
): Promise<StoredSession> {
  const { move, session: sent, work, bundle, conversation, queue, notes } = parcel
  const id = requireSessionId(sent.id)
  const known = await store.get(id)
  if (known !== undefined && known.worktree === move.id) return known
  // Only the log of it was written before a crash: what was made of it knows nothing of its worktree.
  const isHalf = known?.worktree === null && (await worktrees.find(move.id)) !== undefined
  if (known !== undefined && !isHalf)
    throw new StorageError('unsafe', projectRoot, `This machine has a session ${id} already.`)
  // The machine names the worktree, too.
  if (await isOfAnother(store, projectRoot, { id, worktree: move.id }))
    throw new StorageError('unsafe', projectRoot, `The worktree ${move.id} is another session’s.`)
  // What a machine sends is read as a file of a clone is: nothing in it is believed that could do harm.
  const parsed = parseSession(formatSession(sent), { id, projectRoot })
  if (parsed === undefined) throw new StorageError('unsafe', projectRoot, 'The session that came is damaged.')
  const worktree = await worktrees.receive({
    projectRoot,
    title: sent.title ?? 'work',
    id: move.id,
    work,
    bundle,
  })
  onWorktree()
  const cwd = join(worktree.folder, worktree.prefix)
  const agent = harnesses.getAll().find(one => one.id === sent.harness)
  const { claudeSessionId } = sent
  if (claudeSessionId !== null && conversation.length > 0)
    await agent?.placeConversation?.({ nativeSessionId: claudeSessionId, cwd, projectRoot }, conversation)
  const hasConversation = conversation.length > 0 && agent?.placeConversation !== undefined
  const made = { folder: worktree.folder, hasConversation }
  const here = { ...parsed, worktree: worktree.id }
  const { session, lost } = await writeLog(parcel, here, made)
  const state = new SessionStateFiles(projectRoot, id)
  await state.queue.write({
    ...queue,
    sending: null,
    given: [],
    held: queue.messages.length > 0,
  })
  const stored = await state.notes.read()
  const moved = `You now run on another machine, in ${cwd}. Files that git ignores and processes that you started are not here.`
  for (const note of [...notes, moved, ...handedOver(parcel, lost)])
    if (!stored.includes(note)) await state.notes.add(note)
  await store.add(session)
  return session
}

async function isOfAnother(
  store: HostContext['store'],
  projectRoot: string,
  { id, worktree }: { id: string; worktree: string },
): Promise<boolean> {
  return (await store.list(projectRoot)).some(one => one.worktree === worktree && one.id !== id)
}

/** What an agent has to know of what its conversation lacks. */
function handedOver({ cut, move, work }: Parcel, { calls, messages, open }: Lost): string[] {
  const unfinished = work.unfinished === undefined ? [] : [`${unfinishedWords(work.unfinished)}.`]
  if (cut === undefined) return unfinished
  const gone = `The machine ${move.from}, on which you worked, is gone. Your conversation may end earlier than your work there: look at the files before you go on.`
  const done = `What these calls of yours did may not be here: ${calls.join('; ')}.`
  const asked = messages.map(text => `You were asked there, and your conversation may lack it: ${text}`)
  const waited = open.map(
    line => `You waited there for an answer (${line}), and nobody gave one. If you still need it, ask again.`,
  )
  return [gone, ...unfinished, ...(calls.length === 0 ? [] : [done]), ...asked, ...waited]
}

/** Without it, whoever commits the files would not know that a parent is missing. */
function unfinishedWords(name: NonNullable<CarriedWork['unfinished']>): string {
  return `The ${name} that was not finished there is not one here: its files are, with their conflicts; begin it again`
}

/** In words, what did not come along. */
function missingOf(
  { move, work, cut }: Parcel,
  { folder, isNew }: { folder: string; isNew: boolean },
  { calls, open }: Lost,
): string {
  const missing = [
    'Files that git ignores, such as .env, and processes in the background did not come along',
    ...(isNew
      ? ['nor did the agent’s own conversation: it begins a new one with a written account of what is above']
      : []),
  ]
  const unfinished = work.unfinished === undefined ? '' : ` ${unfinishedWords(work.unfinished)}.`
  const files = work.files === 1 ? '1 uncommitted file' : `${work.files} uncommitted files`
  const head =
    cut === undefined
      ? `Moved from ${move.from} to ${move.to}.`
      : `Taken over by ${move.to}, because ${move.from} is gone.`
  const done =
    calls.length === 0 ? '' : ` What these calls did on ${move.from} may not be here: ${calls.join('; ')}.`
  const waited =
    open.length === 0 ? '' : ` The agent waited for an answer, which nobody gave: ${open.join('; ')}.`
  return `${head} The work goes on in ${folder}, with all commits and ${files}${cut === undefined ? '' : ' of the last copy'}.${done}${waited} ${missing.join(', ')}.${unfinished} What each earlier turn changed cannot be shown here.`
}

/** The log, with what did not come along as its last words. Resolves with the session as the log has it. */
async function writeLog(
  parcel: Parcel,
  session: StoredSession,
  made: { folder: string; hasConversation: boolean },
): Promise<{ session: StoredSession; lost: Lost }> {
  const { id, projectRoot } = session
  // A copy that was cut short by a crash.
  await removeSessionLog(projectRoot, id)
  const file = join(await ensureProjectFolder(projectRoot, EVENTS_FOLDER), `${id}.ndjson`)
  if (!(await copyCarefully(parcel.log, file))) await writeFileAtomic(file, '', { survives: 'kill' })
  const log = await openSessionLog(projectRoot, id)
  try {
    const { cut } = parcel
    const lost = cut === undefined ? NOTHING_LOST : await lostAfter(log, cut.seq)
    const known = cut === undefined ? session : await foldOf(log, session, made)
    // A copy that is older than the first turn counts none.
    const isNew = !made.hasConversation && known.turnCount > 0
    const data = isNew ? { [NEW_CONVERSATION]: true } : {}
    const words = notice(id, missingOf(parcel, { folder: made.folder, isNew }, lost), data)
    log.append({ ...words, level: 'info' }, { turnId: null, durable: true })
    await log.flush()
    return { session: known, lost }
  } finally {
    await log.close()
  }
}

/**
 * The session as its log has it, which may have less than its machine told, or more. Its agent goes on with the
 * conversation that came along, whichever one the machine that is gone had last.
 */
async function foldOf(
  log: SessionLog,
  session: StoredSession,
  { hasConversation }: { hasConversation: boolean },
): Promise<StoredSession> {
  const fold = new SessionFold(session.lastSeq > log.lastSeq ? newSession(session) : session)
  for await (const page of pagesAfter(log, fold.session.lastSeq)) fold.add(page)
  const { forkedFrom, claudeSessionId } = session
  return { ...fold.session, forkedFrom, claudeSessionId: hasConversation ? claudeSessionId : null }
}
