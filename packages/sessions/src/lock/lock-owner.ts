import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { basename, dirname } from 'node:path'
import { errnoOf, readProcess } from '@chirality/runner'

/** Who has a project. */
export interface ProjectOwner {
  pid: number
  /** Where it can be reached, for people and for programs. */
  address: string
  since: string
}

/** What is written into a lock file. */
export interface OwnerRecord extends ProjectOwner {
  /** A pid is used again; with the time it started, and the boot that this counts from, it names one process for ever. */
  startedAt: string
  boot: string
  /** The owner listens here as long as it lives. */
  socket: string
  /** Set when it let go by itself. */
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
 * Whether the owner still runs. The kernel knows: a socket that somebody listens on, also if that is stopped or in another
 * container; or else the process table, for a socket that was deleted.
 */
export async function isAlive(owner: OwnerRecord, folder: string): Promise<boolean> {
  if (owner.released) return false
  if (isOwnerSocket(owner.socket, folder) && (await answers(owner.socket))) return true
  // This process itself: what it holds it listens for.
  if (owner.boot !== bootId() || owner.pid === process.pid) return false
  const running = await readProcess(owner.pid)
  return running !== undefined && !running.zombie && running.startedAt === owner.startedAt
}

export function parseOwner(text: string): OwnerRecord | undefined {
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

/** A lock file may come with a cloned project, and name any port or socket that somebody listens on. */
function isOwnerSocket(socket: string, folder: string): boolean {
  return dirname(socket) === folder ? SOCKET_HERE.test(basename(socket)) : SOCKET_ELSEWHERE.test(socket)
}

const SOCKET_HERE = /^[0-9a-f]{12}\.sock$/
/** Where the path of the project is too long for a socket. */
const SOCKET_ELSEWHERE = /^\/.*\/chirality-[A-Za-z0-9]{6}\/lock\.sock$/

const CONTROL = /\p{Cc}/u

function answers(socket: string): Promise<boolean> {
  return new Promise(resolve => {
    const connection = connect(socket)
    connection.on('connect', () => {
      connection.destroy()
      resolve(true)
    })
    // Any other error, such as a queue that is full, comes from somebody who is there.
    connection.on('error', error =>
      resolve(!['ECONNREFUSED', 'ENOENT', 'ENOTSOCK'].includes(errnoOf(error) ?? '')),
    )
  })
}

let boot: string | undefined

/** Linux counts start times from the boot; elsewhere they are times of day, which need no such help. */
function bootId(): string {
  boot ??= process.platform === 'linux' ? readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() : ''
  return boot
}
