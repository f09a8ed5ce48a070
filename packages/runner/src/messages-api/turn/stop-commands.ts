import type { TurnProcess } from '@chirality/core'
import { stopByMarker, stopTraced } from '../../process/stop-leftovers.ts'
import { MARKER_VARIABLE, parseMarkers } from '../../process/system/leftovers.ts'
import { stillRunning } from '../../process/system/process-table.ts'
import type { MessagesApiContext } from '../config.ts'

/** Ends what the commands of a turn left when the program that ran it died. Returns how many processes that were. */
export async function stopCommands(
  processes: readonly TurnProcess[],
  { config, environment }: Pick<MessagesApiContext, 'config' | 'environment'>,
): Promise<number> {
  // What carries a marker that we carry, too, is what we run in.
  const inherited = parseMarkers(environment[MARKER_VARIABLE])
  const others = processes.filter(({ marker }) => !inherited.includes(marker))
  const options = { ...config.stop, interruptGraceMs: 0 }
  const running = await stillRunning(others.map(trace => ({ ...trace, startedAt: trace.startTime })))
  const traced = await Promise.all(running.map(trace => stopTraced(trace, options)))
  const markers = [...new Set(others.map(({ marker }) => marker))]
  const marked = await Promise.all(markers.map(marker => stopByMarker(marker, options)))
  return new Set([...traced, ...marked].flatMap(({ stopped }) => stopped)).size
}
