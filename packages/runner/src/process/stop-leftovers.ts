import type { TurnProcess } from '@chirality/core'
import { ProcessFamily } from './stop/process-family.ts'
import { StopLadder, type StopOptions, type StopReport, type StopTarget } from './stop/stop.ts'
import { findAllMarked, withVariable } from './system/leftovers.ts'
import { listProcesses, type ProcessEntry } from './system/process-table.ts'
import { TracedProcess } from './traced-process.ts'

/** Ends all that carries the marker of a run whose Chirality is gone: nobody will ever read what it says. */
export function stopByMarker(marker: string, options?: StopOptions): Promise<StopReport> {
  return new StopLadder(withoutLeader(marker)).stop(options)
}

/** Ends what carries the marker and this variable, too: part of what a run started, while the run goes on. */
export function stopByVariable(
  marker: string,
  variable: { name: string; value: string },
  options?: StopOptions,
): Promise<StopReport> {
  const leader = withoutLeader(marker)
  const findMarked = async (table: ProcessEntry[]) => withVariable(await findAllMarked(table), variable)
  return new StopLadder(leader, new ProcessFamily(leader, { list: listProcesses, findMarked })).stop(options)
}

/** The same for a process that is known: it is found even where its environment, and so its marker, may not be read. */
export async function stopTraced(trace: TurnProcess, options?: StopOptions): Promise<StopReport> {
  const process = await TracedProcess.find(trace)
  try {
    return await process.stop({ ...options, interruptGraceMs: 0 })
  } finally {
    process.close()
  }
}

function withoutLeader(marker: string): StopTarget {
  return {
    pid: 0,
    marker,
    exited: Promise.resolve(),
    hasExited: () => true,
    leftGroupBehind: () => false,
  }
}
