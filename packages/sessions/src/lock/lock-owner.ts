import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { basename, dirname } from 'node:path'
import { errnoOf } from '@chirality/disk'
import { readProcess } from '@chirality/runner'

/** The process that owns a project. */
export interface ProjectOwner {
  pid: number
  /** The server's address. */
  address: string
  since: string
}

/** The content of a lock file. */
export interface OwnerRecord extends ProjectOwner {
  /** Process ids are reused; together with the start time and the boot id they identify one process. */
  startedAt: string
  boot: string
  /** The owner listens on this socket while it lives. */
  socket: string
  /** Set when the owner released the lock. */
  released?: boolean
}

export async function describeMyself(address: string, socket: string): Promise<OwnerRecord> {
  const me = await readProcess(process.pid)
  return {
    pid: process.pid,
    address,
    since: new Date().toISOString(),
    startedAt: me?.startedAt ?? '',
    boot: bootId(),
    socket,
  }
}

/**
 * Whether the owner is still running. It is if something listens on its socket, even when stopped or in another
 * container. If the socket was deleted, the process table decides.
 */
export async function isOwnerAlive(owner: OwnerRecord, folder: string): Promise<boolean> {
  if (owner.released) return false
  if (isOwnerSocket(owner.socket, folder) && (await answers(owner.socket))) return true
  // Our own locks have a listening socket, so this one is not ours.
  if (owner.boot !== bootId() || owner.pid === process.pid) return false
  const running = await readProcess(owner.pid)
  return running !== undefined && !running.zombie && running.startedAt === owner.startedAt
}

export function parseLockOwner(text: string): OwnerRecord | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    const { pid, address, since, startedAt, boot, socket, released } = value as Record<string, unknown>
    const texts = [address, since, startedAt, boot, socket]
    if (!Number.isSafeInteger(pid) || texts.some(text => typeof text !== 'string' || CONTROL.test(text)))
      return undefined
    return { ...(value as OwnerRecord), released: released === true }
  } catch {
    return undefined
  }
}

/** A lock file can come with a cloned project and name any port or socket. */
function isOwnerSocket(socket: string, folder: string): boolean {
  return dirname(socket) === folder ? SOCKET_HERE.test(basename(socket)) : SOCKET_ELSEWHERE.test(socket)
}

const SOCKET_HERE = /^[0-9a-f]{12}\.sock$/
/** Used when the project's path is too long for a socket. */
const SOCKET_ELSEWHERE = /^\/.*\/chirality-[A-Za-z0-9]{6}\/lock\.sock$/

const CONTROL = /\p{Cc}/u

function answers(socket: string): Promise<boolean> {
  return new Promise(resolve => {
    const connection = connect(socket)
    connection.on('connect', () => {
      connection.destroy()
      resolve(true)
    })
    // Any other error, such as a full queue, comes from a living owner.
    connection.on('error', error =>
      resolve(!['ECONNREFUSED', 'ENOENT', 'ENOTSOCK'].includes(errnoOf(error) ?? '')),
    )
  })
}

let boot: string | undefined

/** Linux counts start times from the boot; other systems use the time of day. */
function bootId(): string {
  boot ??= process.platform === 'linux' ? readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() : ''
  return boot
}
