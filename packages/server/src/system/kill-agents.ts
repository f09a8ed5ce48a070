import { findAllMarked, MARKER_VARIABLE, processEnv } from '@chirality/runner'
import type { SessionHost } from '@chirality/sessions'
import { sessionProcesses } from './session-processes.ts'

/**
 * Ends every agent of this process, and all that they started, without asking: for a user who does not wait until they end by
 * themselves. None of them may be left behind, at work for nobody.
 */
export async function killAgents(host: SessionHost): Promise<void> {
  // Whoever runs us, an agent perhaps, has a marker that we and its other children carry, too.
  const outer = new Set(processEnv()[MARKER_VARIABLE]?.split(':'))
  const markers = new Set<string>()
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const marked = await findAllMarked()
    for (const { parentPid, markers: carried } of marked) {
      const own = carried.at(-1)
      if (parentPid === process.pid && own !== undefined && !outer.has(own)) markers.add(own)
    }
    // Those that an earlier server left to us are nobody's children.
    const adopted = (await sessionProcesses(host)).flatMap(({ processes }) => processes)
    const ours = marked.filter(({ markers: carried }) => carried.some(marker => markers.has(marker)))
    const pids = new Set([...ours, ...adopted].map(({ pid }) => pid))
    if (pids.size === 0) return
    for (const pid of pids) kill(pid)
  }
}

/** What forks faster than we look needs another. */
const MAX_ROUNDS = 5

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone since it was listed.
  }
}
