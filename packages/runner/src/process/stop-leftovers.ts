import type { TurnProcess } from '@chirality/core'
import { StopLadder, type StopOptions, type StopReport } from './stop.ts'
import { TracedProcess } from './traced-process.ts'

/** Ends all that carries the marker of a run whose Chirality is gone: nobody will ever read what it says. */
export function stopByMarker(marker: string, options?: StopOptions): Promise<StopReport> {
  const ladder = new StopLadder({
    pid: 0,
    marker,
    exited: Promise.resolve(),
    hasExited: () => true,
    leftGroupBehind: () => false,
  })
  return ladder.stop(options)
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
