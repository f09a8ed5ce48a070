import { constants } from 'node:fs'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { ensurePrivateDirectory, errnoOf, writeFileAtomic } from '@chirality/disk'
import { readProcess } from '@chirality/runner'
import { workspaceError } from '../workspace-error.ts'

/** A worktree made by Chirality. The record outlives the worktree while work of it is kept. */
export interface Worktree {
  id: string
  /** The work tree of the repository that it was made from. */
  repository: string
  /** Folder of its files. */
  folder: string
  /** Path of the project below `folder`, with `/`; empty if they are the same. */
  prefix: string
  branch: string
  /** The commit at which it started, and the branch that was given or checked out then. */
  base: string
  baseBranch: string | null
  createdAt: string
  /**
   * `making` and `removing` are recorded before the work starts, so that a killed process leaves a record of unfinished
   * work.
   */
  state: (typeof STATES)[number]
  kept?: KeptWork | undefined
  /** Result of the project's set-up file. Undefined before the first turn in the worktree. */
  setup?: SetupRecord | undefined
  /** The process that makes, removes or sets it up. Pids are reused, so its start time is needed too. */
  by?: { pid: number; startedAt: string } | undefined
}

export interface SetupRecord {
  /** Hash of the file's text. */
  hash: string
  /** `running`: its process was killed. `skipped`: a person declined it. */
  state: (typeof SETUP_STATES)[number]
  /** Variables with the values for this worktree. */
  variables: Record<string, string>
}

const SETUP_STATES = ['running', 'done', 'failed', 'skipped'] as const

/** Work that a removed worktree left in the repository, under `refs/chirality/kept/<id>/`. */
export interface KeptWork {
  /** The commit that was checked out. */
  head: string
  /** Number of commits that no other branch, tag or remote branch has. */
  commits: number
  /** A commit of the uncommitted files, in the form of a stash. Absent if there were none. */
  work?: string | undefined
  /** Number of files in that commit. */
  files: number
  at: string
}

const STATES = ['making', 'ready', 'removing', 'removed'] as const

/** Records of worktrees: one file each, in the folder that contains the worktrees. */
export class WorktreeRecords {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  async all(): Promise<Worktree[]> {
    const names = await readdir(this.folder).catch((error: unknown) => {
      if (errnoOf(error) === 'ENOENT') return []
      throw error
    })
    const read = names.flatMap(name => (name.endsWith('.json') ? [this.read(name.slice(0, -5))] : []))
    return (await Promise.all(read)).flatMap(record => record ?? [])
  }

  /** Undefined if the file is missing, or was not written by this class. */
  async read(id: string): Promise<Worktree | undefined> {
    if (!ID.test(id)) return undefined
    try {
      // Non-blocking: a FIFO at this path must not block the caller.
      const handle = await open(
        this.#file(id),
        constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW,
      )
      try {
        const stats = await handle.stat()
        if (!stats.isFile() || stats.size > MAX_BYTES) return undefined
        const record: unknown = JSON.parse(await handle.readFile('utf8'))
        return isWorktree(record) && record.id === id ? record : undefined
      } finally {
        await handle.close()
      }
    } catch (error) {
      if (errnoOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined
      throw error
    }
  }

  /** Writes atomically and durably. */
  async write({ by: _by, ...given }: Worktree): Promise<void> {
    const isUnfinished =
      given.state === 'making' || given.state === 'removing' || given.setup?.state === 'running'
    const record: Worktree = isUnfinished ? { ...given, by: await thisProcess() } : given
    await this.ensure()
    await writeFileAtomic(this.#file(record.id), `${JSON.stringify(record, null, 2)}\n`)
  }

  async remove(id: string): Promise<void> {
    await rm(this.#file(id), { force: true })
  }

  async ensure(): Promise<void> {
    await mkdir(path.dirname(this.folder), { recursive: true, mode: 0o700 })
    await ensurePrivateDirectory(this.folder)
  }

  #file(id: string): string {
    return path.join(this.folder, `${id}.json`)
  }
}

const MAX_BYTES = 64 * 1024

const ID = /^[a-z0-9][a-z0-9-]{0,63}$/

/** Checks an id, which becomes part of paths and refs. */
export function requireId(id: string): void {
  if (!ID.test(id))
    throw workspaceError('worktree-refused', `${JSON.stringify(id.slice(0, 80))} is no id of a worktree.`)
}
const COMMIT = /^[0-9a-f]{40,64}$/

// Checked by hand, because every command that opens a project reads records, and loading a schema library would take
// longer than all its own code.
function isWorktree(value: unknown): value is Worktree {
  if (!isRecord(value)) return false
  return (
    TEXTS.every(name => typeof value[name] === 'string') &&
    matches(ID, value.id) &&
    matches(COMMIT, value.base) &&
    (value.baseBranch === null || typeof value.baseBranch === 'string') &&
    STATES.some(state => state === value.state) &&
    (value.kept === undefined || isKeptWork(value.kept)) &&
    (value.setup === undefined || isSetup(value.setup)) &&
    (value.by === undefined || isProcess(value.by))
  )
}

const TEXTS = ['repository', 'folder', 'prefix', 'branch', 'createdAt'] as const

function isKeptWork(value: unknown): value is KeptWork {
  if (!isRecord(value)) return false
  return (
    matches(COMMIT, value.head) &&
    Number.isSafeInteger(value.commits) &&
    (value.work === undefined || matches(COMMIT, value.work)) &&
    Number.isSafeInteger(value.files) &&
    typeof value.at === 'string'
  )
}

function isSetup(value: unknown): value is SetupRecord {
  return (
    isRecord(value) &&
    typeof value.hash === 'string' &&
    SETUP_STATES.some(state => state === value.state) &&
    isRecord(value.variables) &&
    Object.values(value.variables).every(text => typeof text === 'string')
  )
}

function matches(pattern: RegExp, value: unknown): boolean {
  return typeof value === 'string' && pattern.test(value)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isProcess(value: unknown): value is NonNullable<Worktree['by']> {
  return isRecord(value) && Number.isSafeInteger(value.pid) && typeof value.startedAt === 'string'
}

async function thisProcess(): Promise<NonNullable<Worktree['by']>> {
  return { pid: process.pid, startedAt: (await readProcess(process.pid))?.startedAt ?? '' }
}

/** True if its process still runs, whether this one or another. */
export async function isAtWork({ by }: Worktree): Promise<boolean> {
  if (by === undefined) return false
  const running = await readProcess(by.pid)
  return running !== undefined && !running.zombie && running.startedAt === by.startedAt
}
