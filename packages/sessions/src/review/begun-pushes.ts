import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { hasCode } from '@chirality/core'
import { realFileOps, removeIfThere, withStorageErrors } from '@chirality/disk'
import { endMarked, readProcess } from '@chirality/runner'
import { findRepository, isKnownPushed } from '@chirality/workspaces'
import { readOwnFile, writeOwnFile } from '../files/own-file.ts'
import type { LiveSession } from '../status/live-session.ts'
import type { ReviewHost } from './review-host.ts'

/** What a process was doing with a remote: a file in `pushes/` of the data folder for as long as it does it. */
export interface BegunPush {
  sessionId: string
  branch: string
  /** Null while the remote is only asked what a push would do: it cannot have changed. */
  sent: { remote: string; commit: string; withRequest: boolean } | null
}

interface Recorded extends BegunPush {
  marker: string
  /** Ids of processes are reused; with the start time they name one. */
  by: { pid: number; startedAt: string; address?: string }
}

/** Runs `work`, whose programs have to carry the marker: a process that is killed leaves a record of them. */
export async function recordPush<T>(
  host: Pick<ReviewHost, 'home' | 'address' | 'logFault'>,
  begun: BegunPush,
  work: (marker: string) => Promise<T>,
): Promise<T> {
  const marker = `push-${randomUUID()}`
  const { home, address } = host
  const startedAt = (await readProcess(process.pid))?.startedAt ?? ''
  const record: Recorded = { ...begun, marker, by: { pid: process.pid, startedAt, address } }
  const path = join(home, FOLDER, `${marker}.json`)
  await withStorageErrors(path, () =>
    writeOwnFile({ home, path, ops: realFileOps }, `${JSON.stringify(record)}\n`),
  )
  try {
    return await work(marker)
  } finally {
    remove(host, path)
  }
}

export interface SettlePushOptions {
  session: (id: string) => Promise<LiveSession>
  /** Whether this host is to say what became of a push. Of the others the records stay. Default: of all. */
  isOurs?: (sessionId: string) => Promise<boolean>
}

/**
 * Ends what a killed process left of its pushes, and says in their sessions what is known of each. One whose project another
 * process has is said by a later host.
 */
export async function settlePushes(
  host: Pick<ReviewHost, 'home' | 'logFault'>,
  { session, isOurs = async () => true }: SettlePushOptions,
): Promise<void> {
  const { home } = host
  for (const name of namesIn(join(home, FOLDER))) {
    const path = join(home, FOLDER, name)
    try {
      const record = recordIn(readOwnFile({ home, path, ops: realFileOps }, MAX_BYTES))
      if (record !== undefined && (await isAlive(record.by))) continue
      if (record !== undefined && !(await isOurs(record.sessionId))) continue
      if (record !== undefined) {
        await endMarked(record.marker)
        await tell(session, record)
      }
      remove(host, path)
    } catch (error) {
      host.logFault(error)
      if (!hasCode(error, 'project-locked')) remove(host, path)
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return realFileOps.readdir(folder).filter(name => name.endsWith('.json'))
  } catch {
    // There is none before the first push.
    return []
  }
}

function remove(host: Pick<ReviewHost, 'logFault'>, path: string): void {
  try {
    removeIfThere(realFileOps, path)
  } catch (error) {
    host.logFault(error)
  }
}

async function tell(
  find: SettlePushOptions['session'],
  { sessionId, branch, sent, by }: Recorded,
): Promise<void> {
  if (sent === null) return
  const session = await find(sessionId)
  const { remote, commit, withRequest } = sent
  const repository = await findRepository(session.status.projectRoot)
  const isThere = repository !== undefined && (await isKnownPushed(repository, { remote, branch, commit }))
  const what = isThere
    ? `${remote} has ${commit.slice(0, 9)}.`
    : `Whether ${remote} has ${commit.slice(0, 9)} is not known: Push… asks it.`
  const request = withRequest ? ' Whether a pull request was opened is not known: look there.' : ''
  // Commands have a name in the place of an address.
  const who = by.address?.startsWith('chirality ') ? `The command ${by.address}` : 'The server'
  const shown = `${who} was killed while it pushed ${branch} to ${remote}. ${what}${request}`
  await session.tellAgent({ shown, note: shown })
}

async function isAlive({ pid, startedAt }: Recorded['by']): Promise<boolean> {
  const found = await readProcess(pid)
  return found !== undefined && !found.zombie && found.startedAt === startedAt
}

/** Undefined for what this module did not write. */
function recordIn(read: ReturnType<typeof readOwnFile>): Recorded | undefined {
  try {
    const record = JSON.parse(read !== undefined && 'text' in read ? read.text : '') as Recorded
    const isWhole = [record.sessionId, record.branch, record.marker].every(part => typeof part === 'string')
    return isWhole && typeof record.by?.pid === 'number' ? record : undefined
  } catch {
    return undefined
  }
}

const FOLDER = 'pushes'
const MAX_BYTES = 64 * 1024
