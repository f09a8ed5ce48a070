import { copyFileSync, existsSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConversationFile } from '@chirality/core'
import { type CarriedWork, packWork } from '@chirality/workspaces'
import { temporaryName } from '../files/atomic-write.ts'
import { ensureProjectFolder } from '../files/project-folder.ts'
import { requireSessionId } from '../files/session-id.ts'
import { StorageError } from '../files/storage-error.ts'
import { openSessionLog, removeSessionLog } from '../log/open-logs.ts'
import { EVENTS_FOLDER } from '../log/session-log.ts'
import { told } from '../log/turn-events.ts'
import { AgentNotes } from '../queue/agent-notes.ts'
import { QueueFile, type QueueState } from '../queue/queue-file.ts'
import { formatSession, parseSession, type StoredSession } from '../store/stored-session.ts'
import type { HostContext } from '../turns/host-context.ts'
import type { Move } from '../turns/leaving-sessions.ts'

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
}

export interface PackOptions {
  move: Move
  /** Commits that the other machine has. */
  haves: readonly string[]
  /** An existing folder for the bundle. */
  folder: string
}

/** Packs a session whose agents have ended. */
export async function packSession(
  { harnesses, worktrees }: HostContext,
  session: StoredSession,
  { move, haves, folder }: PackOptions,
): Promise<Parcel> {
  const { id, projectRoot, claudeSessionId, harness, worktree: worktreeId } = session
  const worktree = worktreeId === null ? undefined : await worktrees.get(worktreeId)
  const cwd = worktree === undefined ? projectRoot : join(worktree.folder, worktree.prefix)
  const bundle = join(folder, 'work.bundle')
  const work = await packWork({
    ...{ folder: cwd, haves, bundle, id: move.id },
    ...(worktree === undefined ? {} : { base: worktree.base, baseBranch: worktree.baseBranch }),
  })
  const agent = harness === null ? undefined : harnesses.getAll().find(one => one.id === harness)
  const conversation =
    claudeSessionId === null
      ? []
      : await agent?.conversationFiles?.({ nativeSessionId: claudeSessionId, cwd, projectRoot })
  return {
    ...{ move, session, work, bundle, conversation: conversation ?? [] },
    queue: await new QueueFile(projectRoot, id).read(),
    notes: await new AgentNotes(projectRoot, id).read(),
    log: join(await ensureProjectFolder(projectRoot, EVENTS_FOLDER), `${id}.ndjson`),
  }
}

/** Makes the session of a parcel. Called again after a crash, it goes on; the last step makes it a session of this machine. */
export async function receiveSession(
  { harnesses, worktrees, store }: HostContext,
  projectRoot: string,
  parcel: Parcel,
): Promise<StoredSession> {
  const { move, session: sent, work, bundle, conversation, queue, notes } = parcel
  const id = requireSessionId(sent.id)
  const known = await store.get(id)
  if (known !== undefined && known.worktree === move.id) return known
  // Only the log of it was written before a crash: what was made of it knows nothing of its worktree.
  const isHalf = known?.worktree === null && (await worktrees.find(move.id)) !== undefined
  if (known !== undefined && !isHalf)
    throw new StorageError('unsafe', projectRoot, `This machine has a session ${id} already.`)
  // What a machine sends is read as a file of a clone is: nothing in it is believed that could do harm.
  const parsed = parseSession(formatSession(sent), { id, projectRoot })
  if (parsed === undefined) throw new StorageError('unsafe', projectRoot, 'The session that came is damaged.')
  const worktree = await worktrees.receive({
    ...{ projectRoot, title: sent.title ?? 'work', id: move.id, work, bundle },
  })
  const cwd = join(worktree.folder, worktree.prefix)
  const agent = harnesses.getAll().find(one => one.id === sent.harness)
  const { claudeSessionId } = sent
  if (claudeSessionId !== null && conversation.length > 0)
    await agent?.placeConversation?.({ nativeSessionId: claudeSessionId, cwd, projectRoot }, conversation)
  const hasConversation = conversation.length > 0 && agent?.placeConversation !== undefined
  const session: StoredSession = { ...parsed, worktree: worktree.id }
  await writeLog(parcel, projectRoot, missingOf(parcel, worktree.folder, hasConversation))
  await new QueueFile(projectRoot, id).write({
    ...queue,
    sending: null,
    given: [],
    held: queue.messages.length > 0,
  })
  const noteFile = new AgentNotes(projectRoot, id)
  const stored = await noteFile.read()
  const moved = `You now run on another machine, in ${cwd}. Files that git ignores and processes that you started are not here.`
  for (const note of [...notes, moved]) if (!stored.includes(note)) await noteFile.add(note)
  await store.add(session)
  return session
}

/** In words, what did not come along. */
function missingOf({ move, work, session }: Parcel, folder: string, hasConversation: boolean): string {
  const lost = [
    'Files that git ignores, such as .env, and processes in the background did not come along',
    ...(hasConversation || session.turnCount === 0
      ? []
      : ['nor did the agent’s own conversation: it begins a new one and does not know what is above']),
  ]
  const files = work.files === 1 ? '1 uncommitted file' : `${work.files} uncommitted files`
  return `Moved from ${move.from} to ${move.to}. The work goes on in ${folder}, with all commits and ${files}. ${lost.join(', ')}. What each earlier turn changed cannot be shown here.`
}

async function writeLog({ session, log: source }: Parcel, projectRoot: string, words: string): Promise<void> {
  // A copy that was cut short by a crash.
  await removeSessionLog(projectRoot, session.id)
  const file = join(await ensureProjectFolder(projectRoot, EVENTS_FOLDER), `${session.id}.ndjson`)
  const temporary = temporaryName(file)
  if (existsSync(source)) copyFileSync(source, temporary)
  else writeFileSync(temporary, '', { mode: 0o600 })
  renameSync(temporary, file)
  const log = await openSessionLog(projectRoot, session.id)
  try {
    log.append(told(session.id, words), { turnId: null, durable: true })
    await log.flush()
  } finally {
    await log.close()
  }
}
