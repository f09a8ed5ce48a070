import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError } from '@chirality/core'
import { errnoOf } from '@chirality/runner'
import { removeIfThere } from '../files/atomic-write.ts'
import { realFileOps as ops } from '../files/file-ops.ts'
import { ensureProjectFolder, findProjectFolder, realProjectRoot } from '../files/project-folder.ts'
import { StorageError, type StorageErrorCode, toStorageError } from '../files/storage-error.ts'
import {
  claimLock,
  type LockFile,
  MAX_LOCK_NUMBER,
  readLock,
  removeOlderLocks,
  rewriteLock,
} from './lock-files.ts'
import { describeMyself, isAlive, type OwnerRecord, type ProjectOwner } from './lock-owner.ts'

export interface LockOptions {
  /** Where this server can be reached. */
  address: string
  /** Somebody deleted the lock, and another server took the project before it was put back. */
  onLost?: (owner: ProjectOwner | undefined) => void
}

export interface ProjectLock {
  readonly projectRoot: string
  /** Puts the lock back if it was deleted, with `git clean -fdx` say. Also done by itself now and then. */
  check(): Promise<boolean>
  release(): Promise<void>
}

/** Another server has the project. */
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

/** Makes this process the one that writes to `.chirality` of a project. Throws `ProjectLockedError` when there is one. */
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
      // Nobody else has it, as far as one can tell: tried again the next time.
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

/** The server that has the project now, if any. */
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

/** What says nothing about the lock: too many open files, a full or failing disk, a folder that is away for a moment. */
const PASSING: ReadonlySet<StorageErrorCode> = new Set([
  'too-many-files',
  'no-space',
  'io',
  'project-missing',
])

/** Throws when it cannot be told. */
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
    // Alive before the claim: nobody must ever see a lock file of ours and find us dead.
    socket = await openOwnerSocket(folder)
    const owner = await describeMyself(address, socket.path)
    for (;;) {
      const current = readLock(folder)
      const living = await livingOwner(folder, current)
      if (living !== undefined) throw new ProjectLockedError(root, living)
      const number = (current?.number ?? 0) + 1
      // Only somebody else's hand writes such a one, and a claim after it would be seen by nobody, and tried for ever.
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
  // Where there are no hard links a file is empty for an instant before its owner is in it.
  for (
    let wait = 0;
    current !== undefined && current.owner === undefined && wait < UNREADABLE_WAITS;
    wait += 1
  ) {
    await sleep(UNREADABLE_WAIT_MS)
    current = readLock(folder)
  }
  const owner = current?.owner
  return owner !== undefined && (await isAlive(owner, folder)) ? owner : undefined
}

const UNREADABLE_WAITS = 20
const UNREADABLE_WAIT_MS = 50

function removeStaleSocket({ socket }: OwnerRecord): void {
  try {
    if (ops.lstat(socket)?.isSocket()) removeIfThere(ops, socket)
  } catch {
    // It is only litter.
  }
}

interface OwnerSocket {
  readonly path: string
  close(): Promise<void>
}

/** macOS takes 103 bytes, Linux 107. */
const MAX_SOCKET_PATH_BYTES = 103

/** Something only a living process has: a socket that it listens on. The kernel closes it, however the process dies. */
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
  // Later errors concern single connections; nobody is there to hear of them.
  server.on('error', () => {})
  server.unref()
  return {
    path,
    close: () => new Promise(resolve => server.close(() => resolve())),
  }
}
