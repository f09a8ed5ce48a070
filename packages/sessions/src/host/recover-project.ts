import { sweepTemporaries } from '@chirality/disk'
import { sweepTempFolders } from '@chirality/runner'
import { findProjectFolder } from '../files/project-folder.ts'
import { sessionsWithQueues } from '../queue/queue-file.ts'
import type { SessionStore } from '../store/session-store.ts'
import { stopKeptAgents } from '../turns/record/kept-agents-file.ts'
import { sessionsWithRecords, stopRecorded, TurnRecordFile } from '../turns/record/turn-record.ts'
import type { OpenProject } from './open-project.ts'

/** The result of opening a project. */
export interface ProjectReport {
  projectRoot: string
  /** Sessions whose turn was adopted: it goes on, or its remaining events are read. */
  adopted: string[]
  /** Sessions whose turn ended with the host that ran it. */
  closed: string[]
  /** Processes of those turns, and of agents kept between turns, that were still running and were stopped. */
  stopped: number
  /** Sessions that cannot be opened, and why. */
  problems: { sessionId: string; message: string }[]
}

/** Opens every session that an earlier host left with a running turn, or with queued messages. */
export async function recoverProject(project: OpenProject, store: SessionStore): Promise<ProjectReport> {
  const { projectRoot } = project
  const report: ProjectReport = { projectRoot, adopted: [], closed: [], stopped: 0, problems: [] }
  const folder = await findProjectFolder(projectRoot)
  if (folder !== undefined) sweepTemporaries(folder)
  const ids = new Set([
    ...(await sessionsWithRecords(projectRoot)),
    ...(await sessionsWithQueues(projectRoot)),
    // Found by the session's own file, whatever became of the record of its turn.
    ...(await store.atWork(projectRoot)),
  ])
  for (const sessionId of ids) {
    try {
      const stored = await store.get(sessionId)
      if (stored === undefined) {
        await stopOrphan(projectRoot, sessionId, report)
        continue
      }
      const { recovery } = await project.session(stored)
      if (recovery.kind === 'adopted') report.adopted.push(sessionId)
      if (recovery.kind !== 'closed') continue
      report.closed.push(sessionId)
      report.stopped += recovery.stopped
    } catch (error) {
      report.problems.push({ sessionId, message: messageOf(error) })
    }
  }
  const inUse = await markersOfTurns(projectRoot)
  report.stopped += await stopKeptAgents(projectRoot, inUse, (sessionId, error) => {
    report.problems.push({ sessionId, message: messageOf(error) })
  })
  await sweepTempFolders()
  return report
}

/** Markers of the agents of adopted turns, and of turns that this host must not touch. */
async function markersOfTurns(projectRoot: string): Promise<Set<string>> {
  const ids = await sessionsWithRecords(projectRoot)
  const records = await Promise.all(
    ids.map(id => new TurnRecordFile(projectRoot, id).read().catch(() => undefined)),
  )
  return new Set(records.flatMap(record => record?.processes.map(({ marker }) => marker) ?? []))
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A turn whose session and log were deleted: it could never be shown or stopped. */
async function stopOrphan(projectRoot: string, sessionId: string, report: ProjectReport): Promise<void> {
  const file = new TurnRecordFile(projectRoot, sessionId)
  const record = await file.read()
  if (record === undefined) return
  report.stopped += await stopRecorded(record)
  await file.remove()
  const message =
    'Its turn was at work, but nothing else is left of the session. What ran for it was stopped.'
  report.problems.push({ sessionId, message })
}
