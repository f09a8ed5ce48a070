import { randomUUID } from 'node:crypto'
import { closeSync, constants, openSync, writeFileSync } from 'node:fs'
import { lstat } from 'node:fs/promises'
import path from 'node:path'
import { HarnessError, type HarnessQuery, NdjsonFramer } from '@chirality/core'
import { ensurePrivateDirectory, readCarefully } from '@chirality/disk'
import { asObject } from '../../common/json.ts'
import type { ConversationKeeper } from '../../native-sessions/conversation-files.ts'
import type { Message } from '../api/messages.ts'
import { MESSAGES_API_ID } from '../descriptor.ts'
import { lostResult, type PromptContent, type UnfinishedCalls } from '../loop/history.ts'

/**
 * The messages of one conversation: one line with an id per message, append-only. A later process can continue from it.
 */
export class Transcript {
  readonly nativeSessionId: string
  readonly #fd: number

  private constructor(nativeSessionId: string, fd: number) {
    this.nativeSessionId = nativeSessionId
    this.#fd = fd
  }

  /** Creates the transcript of a new conversation with its first messages. `.chirality` must exist. */
  static async create(
    projectRoot: string,
    nativeSessionId: string,
    messages: readonly Message[],
  ): Promise<Transcript> {
    const file = await safeFile(projectRoot, nativeSessionId)
    const fd = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    const transcript = new Transcript(nativeSessionId, fd)
    for (const message of messages) transcript.append(message)
    return transcript
  }

  static async open(projectRoot: string, nativeSessionId: string): Promise<Transcript> {
    const fd = openSync(
      await safeFile(projectRoot, nativeSessionId),
      O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK,
    )
    // Without this line break the next line would be joined to one that a crash cut off.
    writeFileSync(fd, '\n')
    return new Transcript(nativeSessionId, fd)
  }

  /** Returns the id of the line, at which a fork can cut the conversation. */
  append(message: Message): string {
    const uuid = randomUUID()
    writeFileSync(this.#fd, `${JSON.stringify({ ...message, uuid })}\n`)
    return uuid
  }

  /** A fact that is no message: somebody is asked about a call, or was. Throws if it cannot be written. */
  note(fact: TranscriptNote): void {
    writeFileSync(this.#fd, `${JSON.stringify(fact)}\n`)
  }

  close(): void {
    closeSync(this.#fd)
  }
}

export type TranscriptNote =
  /** The call of this id waits for an answer. */
  | { asked: string; request: string }
  /** The request has its answer, so the call may have run. */
  | { decided: string }
  /** A message of the user that the model gets when the waiting call has its result. */
  | { said: PromptContent }

/** Undefined when there is no such conversation or line. Unreadable lines are skipped. */
export async function readTranscript(
  projectRoot: string,
  nativeSessionId: string,
  upTo?: string,
): Promise<Message[] | undefined> {
  const lines = await transcriptLines(projectRoot, nativeSessionId)
  if (lines === undefined) return undefined
  const end = upTo === undefined ? lines.length : 1 + lines.findIndex(line => asObject(line).uuid === upTo)
  return end === 0 && upTo !== undefined ? undefined : withResults(lines.slice(0, end).flatMap(messageOf))
}

/** What a process that was killed left open at the end of a conversation: nothing, if the last line is a message. */
export async function readUnfinished(projectRoot: string, nativeSessionId: string): Promise<UnfinishedCalls> {
  let asked: { call: string; request: unknown } | undefined
  let said: PromptContent[] = []
  for (const line of (await transcriptLines(projectRoot, nativeSessionId)) ?? []) {
    const note = asObject(line)
    if (messageOf(line).length > 0) {
      asked = undefined
      said = []
    } else if (typeof note.asked === 'string') asked = { call: note.asked, request: note.request }
    else if (note.decided !== undefined && note.decided === asked?.request) asked = undefined
    else if (Array.isArray(note.said)) said.push(note.said as PromptContent)
  }
  return { ...(asked ? { waiting: asked.call } : {}), said }
}

async function transcriptLines(projectRoot: string, nativeSessionId: string): Promise<unknown[] | undefined> {
  if (!isTranscriptId(nativeSessionId)) return undefined
  const file = path.relative(projectRoot, fileOf(projectRoot, nativeSessionId))
  const read = await readCarefully({ root: projectRoot, path: file, links: 'none', maxBytes: MAX_BYTES })
  if (read === undefined) return undefined
  if ('fault' in read) throw new Error(read.fault.message)
  const framer = new NdjsonFramer()
  return [...framer.push(read.bytes), ...framer.end()].flatMap(record =>
    record.kind === 'json' ? [record.value] : [],
  )
}

/** For carrying a conversation to another machine. */
export const transcripts: ConversationKeeper = {
  harnessId: MESSAGES_API_ID,
  find: async ({ projectRoot, nativeSessionId }) => {
    const file = fileOf(projectRoot, nativeSessionId)
    const isThere = isTranscriptId(nativeSessionId) && (await lstat(file).catch(() => undefined))?.isFile()
    return { folder: path.dirname(file), names: isThere ? [path.basename(file)] : [] }
  },
  folder: async ({ projectRoot, nativeSessionId }) =>
    path.dirname(await safeFile(projectRoot, nativeSessionId)),
  isName: (name, { nativeSessionId }) =>
    isTranscriptId(nativeSessionId) && name === `${nativeSessionId}.ndjson`,
}

/** More than any model takes. */
const MAX_BYTES = 128 * 1024 * 1024

/** The id becomes a file name. */
export function isTranscriptId(id: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9-]{7,63}$/.test(id)
}

const FOLDER = 'messages-api'
const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants

/** The path of the transcript. Refuses folders that are symlinks or not ours. */
async function safeFile(projectRoot: string, nativeSessionId: string): Promise<string> {
  const state = path.join(projectRoot, '.chirality', 'state')
  await ensurePrivateDirectory(state)
  await ensurePrivateDirectory(path.join(state, FOLDER))
  return fileOf(projectRoot, nativeSessionId)
}

function fileOf(projectRoot: string, nativeSessionId: string): string {
  return path.join(projectRoot, '.chirality', 'state', FOLDER, `${nativeSessionId}.ndjson`)
}

function messageOf(value: unknown): Message[] {
  if (typeof value !== 'object' || value === null) return []
  const { role, content } = value as Partial<Message>
  const isMessage =
    (role === 'user' || role === 'assistant') && (typeof content === 'string' || Array.isArray(content))
  return isMessage ? [{ role, content } as Message] : []
}

/** The API refuses a call without a result and a result without a call. A crash or a lost line can leave either. */
function withResults(messages: Message[]): Message[] {
  const repaired: Message[] = []
  let open: string[] = []
  for (const message of messages) {
    const blocks = typeof message.content === 'string' ? [] : message.content
    const answered = blocks.flatMap(block => (block.type === 'tool_result' ? [block.tool_use_id] : []))
    const missing = open.filter(id => !answered.includes(id)).map(lostResult)
    const kept = blocks.filter(block => block.type !== 'tool_result' || open.includes(block.tool_use_id))
    if (message.role === 'assistant') {
      if (missing.length > 0) repaired.push({ role: 'user', content: missing })
      repaired.push(message)
    } else if (typeof message.content === 'string' && missing.length === 0) {
      repaired.push(message)
    } else {
      const said =
        typeof message.content === 'string' ? [{ type: 'text' as const, text: message.content }] : kept
      if (missing.length + said.length > 0) repaired.push({ role: 'user', content: [...missing, ...said] })
    }
    open =
      message.role === 'assistant'
        ? blocks.flatMap(block => (block.type === 'tool_use' ? [block.id] : []))
        : []
  }
  return repaired
}

/** The conversation that a turn continues. */
export interface Conversation {
  transcript: Transcript
  history: readonly Message[]
  unfinished: UnfinishedCalls
  /** The requested conversation that is missing, or lacks the requested cut point; this one is new. */
  lostId?: string
  /** Releases the conversation. */
  close(): void
}

/**
 * Opens, forks or creates a conversation. The log folder must exist. Throws when another turn uses the conversation.
 */
export async function openTranscript(query: HarnessQuery, busy: Set<string>): Promise<Conversation> {
  const { cwd, projectRoot = cwd, resumeSessionId, forkSession, forkAt } = query
  const isResumed = resumeSessionId !== undefined && !forkSession
  if (isResumed && busy.has(resumeSessionId)) {
    const message = `The conversation ${resumeSessionId} has a turn running in another session.`
    throw new HarnessError(message, 'busy', MESSAGES_API_ID)
  }
  const history =
    resumeSessionId === undefined ? [] : await readTranscript(projectRoot, resumeSessionId, forkAt)
  const transcript =
    isResumed && history !== undefined
      ? await Transcript.open(projectRoot, resumeSessionId)
      : await Transcript.create(projectRoot, await freeId(query), history ?? [])
  const id = transcript.nativeSessionId
  // A copy asks nobody: the original does.
  const unfinished = isResumed ? await readUnfinished(projectRoot, resumeSessionId) : { said: [] }
  busy.add(id)
  const close = () => {
    busy.delete(id)
    transcript.close()
  }
  const lost = history === undefined && resumeSessionId !== undefined ? { lostId: resumeSessionId } : {}
  return { transcript, history: history ?? [], unfinished, ...lost, close }
}

/** The requested id, if it is a valid file name and unused. */
async function freeId({ cwd, projectRoot = cwd, newSessionId }: HarnessQuery): Promise<string> {
  const isFree =
    newSessionId && isTranscriptId(newSessionId) && !(await readTranscript(projectRoot, newSessionId))
  return isFree ? newSessionId : randomUUID()
}
