import { stopTraced } from '@chirality/runner'
import type { TurnRecord } from '../turns/turn-record-file.ts'

/** Stops what is left of a turn, by the processes on its record. Resolves with how many there were. */
export async function stopRecorded({ processes }: TurnRecord): Promise<number> {
  const reports = await Promise.all(processes.map(process => stopTraced(process)))
  return reports.reduce((sum, { stopped }) => sum + stopped.length, 0)
}
