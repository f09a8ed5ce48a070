import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
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
export async function isAlive(owner: OwnerRecord): Promise<boolean> {
  if (owner.released) return false
  if (await answers(owner.socket)) return true
  if (owner.boot !== bootId()) return false
  const running = await readProcess(owner.pid)
  return running !== undefined && !running.zombie && running.startedAt === owner.startedAt
}

export function parseOwner(text: string): OwnerRecord | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    const { pid, address, since, startedAt, boot, socket, released } = value as Record<string, unknown>
    const texts = [address, since, startedAt, boot, socket]
    if (!Number.isSafeInteger(pid) || texts.some(text => typeof text !== 'string')) return undefined
    return { ...(value as OwnerRecord), released: released === true }
  } catch {
    return undefined
  }
}

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
