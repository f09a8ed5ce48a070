import { join } from 'node:path'
import { writeFileAtomic } from '../files/atomic-write.ts'
import { withFileLock } from '../files/file-lock.ts'
import { type FileOps, realFileOps } from '../files/file-ops.ts'
import { KeyedQueue } from '../files/keyed-queue.ts'
import { ensureProjectFolder, findProjectFolder, realProjectRoot } from '../files/project-folder.ts'
import { readSmallFile } from '../files/read-write.ts'
import { toStorageError } from '../files/storage-error.ts'
import { parseObject } from './stored-session.ts'

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
function defineStateFile<T>(options: StateFileOptions<T>, ops: FileOps = realFileOps): StateFile<T> {
  const { name, parse, initial } = options
  const queue = new KeyedQueue()

  const load = (path: string): T => {
    if (ops.lstat(path) === undefined) return initial()
    const text = ops.lstat(path)?.isFile() ? readSmallFile(ops, path, MAX_STATE_BYTES) : undefined
    const value = text && parseObject(text.toString('utf8'))
    const state = value && parse(value)
    if (state !== undefined) return state
    ops.rename(path, `${path}.corrupt-${new Date().toISOString().replaceAll(/[-:.]/g, '')}`)
    return initial()
  }

  return {
    read: async projectRoot => {
      const folder = await findProjectFolder(projectRoot, STATE_FOLDER)
      if (folder === undefined) return initial()
      try {
        return load(join(folder, name))
      } catch (error) {
        throw toStorageError(error, join(folder, name))
      }
    },
    update: (projectRoot, change) =>
      queue.run(realProjectRoot(projectRoot), async () => {
        const path = join(await ensureProjectFolder(projectRoot, STATE_FOLDER), name)
        try {
          return await withFileLock(ops, `${path}.lock`, async () => {
            const state = change(load(path))
            await writeFileAtomic(path, `${JSON.stringify(state, null, 2)}\n`, { ops })
            return state
          })
        } catch (error) {
          throw toStorageError(error, path)
        }
      }),
  }
}

const STATE_FOLDER = 'state'
const MAX_STATE_BYTES = 1024 * 1024
