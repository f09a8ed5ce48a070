import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError } from '@chirality/core'
import {
  errnoOf,
  realFileOps as ops,
  removeIfThere,
  StorageError,
  type StorageErrorCode,
  toStorageError,
} from '@chirality/disk'
import { ensureProjectFolder, findProjectFolder, realProjectRoot } from '../files/project-folder.ts'
import {
  claimLock,
  type LockFile,
  MAX_LOCK_NUMBER,
  readLock,
  removeOlderLocks,
  rewriteLock,
} from './lock-files.ts'
import { describeMyself, isOwnerAlive, type OwnerRecord, type ProjectOwner } from './lock-owner.ts'

export interface LockOptions {
  /** The address of this server. */
  address: string
  /** The lock was deleted, and another server took the project before it was restored. */
  onLost?: (owner: ProjectOwner | undefined) => void
}

export interface ProjectLock {
  readonly projectRoot: string
  /** Restores the lock if it was deleted, for example by `git clean -fdx`. Also runs periodically. */
  check(): Promise<boolean>
  release(): Promise<void>
}

export class ProjectLockedError extends CodedError<'project-locked'> {
  readonly projectRoot: string
  readonly owner: ProjectOwner

  constructor(projectRoot: string, { pid, address, since }: ProjectOwner) {
    super(
      'project-locked',
      `${projectRoot} is in use by the server at ${address} (process ${pid}). Use that one, or stop it first.`,
    )
    this.name = 'ProjectLockedError'
    this.projectRoot = projectRoot
    this.owner = { pid, address, since }
  }
}

/**
 * Makes this process the only writer to `.chirality` of a project. Throws `ProjectLockedError` when another process is.
 */
export async function lockProject(projectRoot: string, options: LockOptions): Promise<ProjectLock> {
  const root = realProjectRoot(projectRoot)
  let held = await take(root, options.address)
  let checking: Promise<boolean> | undefined
  let released = false

  const restore = async (): Promise<boolean> => {
    if (released) return false
    try {
      if (isOurs(held)) return true
      const { socket } = held
      held = await take(root, options.address)
      await socket.close()
      return true
    } catch (error) {
      const owner = error instanceof ProjectLockedError ? error.owner : undefined
      // The lock probably still stands, and the next check tries again.
      if (owner === undefined && PASSING.has(toStorageError(error, root).code)) return true
      released = true
      clearInterval(timer)
      await held.socket.close()
      options.onLost?.(owner)
      return false
    }
  }
  const check = () => {
    checking ??= restore().finally(() => {
      checking = undefined
    })
    return checking
  }
  const timer = setInterval(check, CHECK_MS)
  timer.unref()

  return {
    projectRoot: root,
    check,
    release: async () => {
      clearInterval(timer)
      await checking
      if (released) return
      released = true
      try {
        if (isOurs(held)) rewriteLock(held.folder, held.number, { ...held.owner, released: true })
      } finally {
        await held.socket.close()
      }
    },
  }
}

/** The server that owns the project, if any. */
export async function findProjectOwner(projectRoot: string): Promise<ProjectOwner | undefined> {
  const folder = await findProjectFolder(projectRoot, LOCK_FOLDER)
  if (folder === undefined) return undefined
  const owner = await livingOwner(folder, readLock(folder))
  return owner && { pid: owner.pid, address: owner.address, since: owner.since }
}

const LOCK_FOLDER = 'lock'
const CHECK_MS = 2000

interface Held {
  folder: string
  number: number
  owner: OwnerRecord
  socket: OwnerSocket
}

/** Errors that say nothing about the lock: too many open files, a full or failing disk, a missing folder. */
const PASSING: ReadonlySet<StorageErrorCode> = new Set([
  'too-many-files',
  'no-space',
  'io',
  'project-missing',
])

/** Throws when the lock cannot be read. */
function isOurs({ folder, owner }: Held): boolean {
  try {
    return readLock(folder)?.owner?.socket === owner.socket
  } catch (error) {
    if (GONE.has(errnoOf(error) ?? '')) return false
    throw error
  }
}

const GONE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR'])

async function take(root: string, address: string): Promise<Held> {
  const folder = await ensureProjectFolder(root, LOCK_FOLDER)
  let socket: OwnerSocket | undefined
  try {
    // The socket exists before the claim: another process must never find our lock file without it.
    socket = await openOwnerSocket(folder)
    const owner = await describeMyself(address, socket.path)
    for (;;) {
      const current = readLock(folder)
      const living = await livingOwner(folder, current)
      if (living !== undefined) throw new ProjectLockedError(root, living)
      const number = (current?.number ?? 0) + 1
      // Only manual editing creates this number. No claim could follow it, and the loop would never end.
      if (number > MAX_LOCK_NUMBER) throw impossibleLock(folder)
      if (!claimLock(folder, number, owner)) continue
      if (current?.owner !== undefined) removeStaleSocket(current.owner)
      removeOlderLocks(folder, number)
      return { folder, number, owner, socket }
    }
  } catch (error) {
    await socket?.close()
    if (error instanceof ProjectLockedError) throw error
    throw toStorageError(error, folder)
  }
}

function impossibleLock(folder: string): StorageError {
  const message = `${folder} holds a lock with a number that no server gives. Remove that folder if no server uses the project.`
  return new StorageError('unsafe', folder, message)
}

async function livingOwner(folder: string, lock: LockFile | undefined): Promise<OwnerRecord | undefined> {
  let current = lock
  // Without hard links a new file is empty until its owner is written.
  for (
    let wait = 0;
    current !== undefined && current.owner === undefined && wait < UNREADABLE_WAITS;
    wait += 1
  ) {
    await sleep(UNREADABLE_WAIT_MS)
    current = readLock(folder)
  }
  const owner = current?.owner
  return owner !== undefined && (await isOwnerAlive(owner, folder)) ? owner : undefined
}

const UNREADABLE_WAITS = 20
const UNREADABLE_WAIT_MS = 50

function removeStaleSocket({ socket }: OwnerRecord): void {
  try {
    if (ops.lstat(socket)?.isSocket()) removeIfThere(ops, socket)
  } catch {
    // A file that cannot be removed has no effect.
  }
}

interface OwnerSocket {
  readonly path: string
  close(): Promise<void>
}

/** The limit is 103 bytes on macOS and 107 on Linux. */
const MAX_SOCKET_PATH_BYTES = 103

/** Opens a listening socket, which the kernel closes however the process dies. */
async function openOwnerSocket(folder: string): Promise<OwnerSocket> {
  const inFolder = join(folder, `${randomBytes(6).toString('hex')}.sock`)
  if (Buffer.byteLength(inFolder) <= MAX_SOCKET_PATH_BYTES) return listen(inFolder)
  const elsewhere = await mkdtemp(join(tmpdir(), 'chirality-'))
  const remove = () => rm(elsewhere, { recursive: true, force: true })
  try {
    const socket = await listen(join(elsewhere, 'lock.sock'))
    return { path: socket.path, close: () => socket.close().then(remove) }
  } catch (error) {
    await remove()
    throw error
  }
}

async function listen(path: string): Promise<OwnerSocket> {
  const server = createServer(connection => connection.destroy())
  server.listen(path)
  await once(server, 'listening')
  // Later errors concern single connections and are ignored.
  server.on('error', () => {})
  server.unref()
  return {
    path,
    close: () => new Promise(resolve => server.close(() => resolve())),
  }
}
