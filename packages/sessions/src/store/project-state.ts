import { join } from 'node:path'
import { JsonFile } from '@chirality/disk'
import { ensureProjectFolder, findProjectFolder } from '../files/project-folder.ts'

/** `state/claude-session.json`: the native session that each kind of work used last, and when. */
export interface ClaudeSessionState {
  [role: `${string}_session_id`]: string | null
  updated_at: string | null
}

export const claudeSessionFile = defineStateFile<ClaudeSessionState>({
  name: 'claude-session.json',
  initial: () => ({ updated_at: null }),
  parse: ({ updated_at, ...others }) => {
    if (typeof updated_at !== 'string' && updated_at !== null) return undefined
    const roles = Object.entries(others).filter(
      ([name, value]) => name.endsWith('_session_id') && (typeof value === 'string' || value === null),
    )
    return { ...Object.fromEntries(roles), updated_at }
  },
})

/** Notes which native session a role used: `planner`, `coder` … */
export async function noteClaudeSession(projectRoot: string, role: string, nativeSessionId: string | null) {
  return await claudeSessionFile.update(projectRoot, state => ({
    ...state,
    [`${role}_session_id`]: nativeSessionId,
    updated_at: new Date().toISOString(),
  }))
}

/** `state/deleted.json`: the cost of deleted sessions, which no sum includes any more. */
export interface DeletedState {
  sessions: DeletedSession[]
}

export interface DeletedSession {
  /** The last event. */
  updatedAt: string
  usd: number
  tokens: number
}

export const deletedFile = defineStateFile<DeletedState>({
  name: 'deleted.json',
  initial: () => ({ sessions: [] }),
  parse: ({ sessions }) =>
    Array.isArray(sessions) ? { sessions: sessions.filter(isDeleted).slice(-MAX_DELETED) } : undefined,
})

export function noteDeleted(projectRoot: string, session: DeletedSession) {
  return deletedFile.update(projectRoot, ({ sessions }) => ({
    sessions: [...sessions, session].slice(-MAX_DELETED),
  }))
}

const MAX_DELETED = 1000

function isDeleted(value: unknown): value is DeletedSession {
  if (typeof value !== 'object' || value === null) return false
  const { updatedAt, usd, tokens } = value as Record<string, unknown>
  return typeof updatedAt === 'string' && Number.isFinite(usd) && Number.isFinite(tokens)
}

interface StateFileOptions<T> {
  /** In `.chirality/state/`. */
  name: string
  /** The state in a file's content, or undefined if it is invalid. */
  parse: (value: Record<string, unknown>) => T | undefined
  initial: () => T
}

export interface StateFile<T> {
  read(projectRoot: string): Promise<T>
  /** Reads, changes and writes under a lock, also between processes: no change is lost. */
  update(projectRoot: string, change: (state: T) => T): Promise<T>
}

/** A small JSON file of a project. A damaged one is renamed and started again. */
function defineStateFile<T>({ name, parse, initial }: StateFileOptions<T>): StateFile<T> {
  const fileIn = (folder: string) =>
    new JsonFile<T>(join(folder, name), {
      parse: content => {
        const state = isObject(content) ? parse(content) : undefined
        if (state === undefined) throw new TypeError(`${name} is not in its form.`)
        return state
      },
      initial,
      maxBytes: MAX_STATE_BYTES,
    })
  return {
    read: async projectRoot => {
      const folder = await findProjectFolder(projectRoot, STATE_FOLDER)
      return folder === undefined ? initial() : fileIn(folder).read()
    },
    update: async (projectRoot, change) =>
      fileIn(await ensureProjectFolder(projectRoot, STATE_FOLDER)).change(change),
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const STATE_FOLDER = 'state'
const MAX_STATE_BYTES = 1024 * 1024
