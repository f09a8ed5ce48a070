import type { TurnProcess } from '@chirality/core'
import type { AgentProcess } from './agent-process.ts'
import { readProcess } from './system/process-table.ts'

/** What it takes to find a process and its output again, from another process. Call it while the agent is ours. */
export async function traceProcess(
  { pid, marker, spoolPath, stderrPath }: AgentProcess,
  spoolOffset = 0,
): Promise<TurnProcess> {
  // One that has gone already has no start; an empty one fits no process, so it is taken for gone later on, too.
  const entry = await readProcess(pid).catch(() => undefined)
  return { pid, startTime: entry?.startedAt ?? '', marker, spoolPath, stderrPath, spoolOffset }
}
