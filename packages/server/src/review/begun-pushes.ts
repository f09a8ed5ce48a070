import { randomUUID } from 'node:crypto'
import { hasCode } from '@chirality/core'
import { endMarked, readProcess } from '@chirality/runner'
import { findRepository, isKnownPushed } from '@chirality/workspaces'
import { listUserFiles, readUserFile, removeUserFile, writeUserFile } from '../system/user-files.ts'
import type { AppServices } from '../trpc/context.ts'
import { liveSession } from '../trpc/live-session.ts'

/** What a server was doing with a remote: a file in `pushes/` of the data folder for as long as it does it. */
export interface BegunPush {
  sessionId: string
  branch: string
  /** Null while the remote is only asked what a push would do: it cannot have changed. */
  sent: { remote: string; commit: string; withRequest: boolean } | null
}

interface Recorded extends BegunPush {
  marker: string
  /** Ids of processes are reused; with the start time they name one. */
  by: { pid: number; startedAt: string }
}

/** Runs `work`, whose programs have to carry the marker: a server that is killed leaves a record of them. */
export async function recordPush<T>(
  { host }: Pick<AppServices, 'host'>,
  begun: BegunPush,
  work: (marker: string) => Promise<T>,
): Promise<T> {
  const marker = `push-${randomUUID()}`
  const by = { pid: process.pid, startedAt: (await readProcess(process.pid))?.startedAt ?? '' }
  const record: Recorded = { ...begun, marker, by }
  await writeUserFile(host.home, fileOf(marker), `${JSON.stringify(record)}\n`)
  try {
    return await work(marker)
  } finally {
    await removeUserFile(host.home, fileOf(marker)).catch((error: unknown) => host.logFault(error))
  }
}

/**
 * Ends what a killed server left of its pushes, and says in their sessions what is known of each. One whose project another
 * process has is said by a later server.
 */
export async function settlePushes(services: AppServices): Promise<void> {
  const { home } = services.host
  for (const name of await listUserFiles(home, FOLDER)) {
    try {
      const record = recordIn(await readUserFile(home, `${FOLDER}/${name}`))
      if (record !== undefined && (await isAlive(record.by))) continue
      if (record !== undefined) {
        await endMarked(record.marker)
        await tell(services, record)
      }
      await removeUserFile(home, `${FOLDER}/${name}`)
    } catch (error) {
      services.host.logFault(error)
      if (!hasCode(error, 'project-locked')) await removeUserFile(home, `${FOLDER}/${name}`)
    }
  }
}

async function tell(services: AppServices, { sessionId, branch, sent }: Recorded): Promise<void> {
  if (sent === null) return
  const session = await liveSession(services, sessionId)
  const { remote, commit, withRequest } = sent
  const repository = await findRepository(session.status.projectRoot)
  const isThere = repository !== undefined && (await isKnownPushed(repository, { remote, branch, commit }))
  const what = isThere
    ? `${remote} has ${commit.slice(0, 9)}.`
    : `Whether ${remote} has ${commit.slice(0, 9)} is not known: Push… asks it.`
  const request = withRequest ? ' Whether a pull request was opened is not known: look there.' : ''
  const shown = `The server was killed while it pushed ${branch} to ${remote}. ${what}${request}`
  await session.tellAgent({ shown, note: shown })
}

async function isAlive({ pid, startedAt }: Recorded['by']): Promise<boolean> {
  const found = await readProcess(pid)
  return found !== undefined && !found.zombie && found.startedAt === startedAt
}

/** Undefined for what this module did not write. */
function recordIn(text: string | undefined): Recorded | undefined {
  try {
    const record = JSON.parse(text ?? '') as Recorded
    const isWhole = [record.sessionId, record.branch, record.marker].every(part => typeof part === 'string')
    return isWhole && typeof record.by?.pid === 'number' ? record : undefined
  } catch {
    return undefined
  }
}

const FOLDER = 'pushes'

function fileOf(marker: string): string {
  return `${FOLDER}/${marker}.json`
}
