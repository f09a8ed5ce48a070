import { type FileOps, realFileOps, setAside, toStorageError, writeFileAtomic } from '@chirality/disk'
import { sessionsWithFiles } from '../files/session-id.ts'
import { SessionStateFile } from '../files/session-state-file.ts'
import { parseObject } from '../store/stored-session.ts'
import type { GivenMessage, QueuedMessage } from './queued-message.ts'

export interface QueueState {
  /** Nothing is sent until the user releases the queue. */
  held: boolean
  /** The message that is being sent. The log shows whether its turn has started. */
  sending: string | null
  messages: QueuedMessage[]
  /** Messages given to the running turn that the agent has not taken yet. */
  given: GivenMessage[]
}

export const EMPTY_QUEUE: QueueState = { held: false, sending: null, messages: [], given: [] }
export const MAX_QUEUE_BYTES = 16 * 1024 * 1024

/** `.chirality/state/queue/<sessionId>.json`. A missing file is an empty queue; an invalid one is renamed and kept. */
export class QueueFile extends SessionStateFile {
  constructor(projectRoot: string, sessionId: string, ops?: FileOps) {
    super({ projectRoot, sessionId, ops }, { kind: 'queue', ending: '.json' })
  }

  async read(): Promise<QueueState> {
    const text = await this.readText(MAX_QUEUE_BYTES)
    const state = text === undefined ? EMPTY_QUEUE : parseQueue(text)
    if (state !== undefined) return state
    const path = await this.ensurePath()
    try {
      setAside(path, 'corrupt', this.ops)
      return EMPTY_QUEUE
    } catch (error) {
      throw toStorageError(error, path)
    }
  }

  /** An empty queue that is not held needs no file. */
  async write(state: QueueState): Promise<void> {
    if (isEmpty(state)) return this.remove()
    const path = await this.ensurePath()
    try {
      await writeFileAtomic(path, `${JSON.stringify(state)}\n`, { ops: this.ops })
    } catch (error) {
      throw toStorageError(error, path)
    }
  }

  async exists(): Promise<boolean> {
    const path = await this.findPath()
    return path !== undefined && this.ops.lstat(path) !== undefined
  }
}

export function isEmpty({ messages, given, held }: QueueState): boolean {
  return messages.length === 0 && given.length === 0 && !held
}

/** The sessions with waiting messages. */
export async function sessionsWithQueues(projectRoot: string, ops: FileOps = realFileOps): Promise<string[]> {
  return sessionsWithFiles(projectRoot, FOLDER, ops)
}

const FOLDER = ['state', 'queue']

function parseQueue(text: string): QueueState | undefined {
  const value = parseObject(text)
  if (value === undefined || !Array.isArray(value.messages)) return undefined
  const written = value.messages.filter(isQueued)
  const messages = written.map(withoutPowers)
  const isLess = messages.some((message, at) => message !== written[at])
  const sending = typeof value.sending === 'string' ? value.sending : null
  const given = (Array.isArray(value.given) ? value.given : []).filter(isGiven).map(withoutPowers)
  return { held: value.held === true || isLess, sending, messages, given }
}

/**
 * Removes options that widen permissions: an agent or a clone can write this file in the project. The user can set them
 * with the turn.
 */
function withoutPowers<T extends QueuedMessage>(queued: T): T {
  const { autoApproveTools, autoApproveToolsOverride, mcpServers, env, additionalDirectories, ...request } =
    queued.request
  const powers = [autoApproveTools, autoApproveToolsOverride, mcpServers, env, additionalDirectories]
  const isBypass = request.permissionMode === 'bypassPermissions'
  if (!isBypass && powers.every(power => power === undefined)) return queued
  const { permissionMode, ...rest } = request
  return { ...queued, request: isBypass ? rest : request }
}

function isGiven(value: unknown): value is GivenMessage {
  return isQueued(value) && Number.isSafeInteger((value as Partial<GivenMessage>).afterSeq)
}

function isQueued(value: unknown): value is QueuedMessage {
  if (typeof value !== 'object' || value === null) return false
  const { id, message, queuedAt, request } = value as Record<string, unknown>
  const isRequest = typeof request === 'object' && request !== null
  return typeof id === 'string' && typeof message === 'string' && typeof queuedAt === 'string' && isRequest
}
