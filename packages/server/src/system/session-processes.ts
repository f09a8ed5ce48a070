import { findAllMarked } from '@chirality/runner'
import type { SessionHost } from '@chirality/sessions'
import { tracedProcesses } from './traced-processes.ts'

export interface SessionProcesses {
  sessionId: string
  turnId: string
  harness: string
  processes: { pid: number; parentPid: number }[]
}

/** The processes of the turns that run, found by the marker that each inherits. */
export async function sessionProcesses(host: SessionHost, sessionId?: string): Promise<SessionProcesses[]> {
  const running = host
    .statuses()
    .filter(status => status.phase !== 'idle' && (sessionId === undefined || status.sessionId === sessionId))
  if (running.length === 0) return []
  const marked = await findAllMarked()
  const found = await Promise.all(
    running.map(async status => {
      const record = await tracedProcesses(status.projectRoot, status.sessionId)
      if (record === undefined) return []
      const markers = new Set(record.processes.map(({ marker }) => marker))
      const ours = marked.filter(entry => entry.markers.some(marker => markers.has(marker)))
      const processes = ours.map(({ pid, parentPid }) => ({ pid, parentPid }))
      return [{ sessionId: status.sessionId, turnId: record.turnId, harness: record.harness, processes }]
    }),
  )
  return found.flat()
}
