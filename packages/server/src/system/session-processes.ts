import path from 'node:path'
import { findAllMarked, MARKER_VARIABLE, processEnv } from '@chirality/runner'
import type { SessionHost } from '@chirality/sessions'
import { z } from 'zod'
import type * as answers from '../contract/answers.ts'
import { readOwnFile } from '../files/read-file.ts'

export type SessionProcesses = z.infer<typeof answers.sessionProcesses>

/** The processes of the running turns, found by the marker that each inherits. */
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

const RECORD = z.object({
  turnId: z.string(),
  harness: z.string(),
  processes: z.array(z.object({ pid: z.number(), startTime: z.string(), marker: z.string() })),
})

type TracedTurn = z.infer<typeof RECORD>
export type TracedProcess = TracedTurn['processes'][number]

/** The agents of a session's running turn, from its record; undefined if there is none. */
export async function tracedProcesses(
  projectRoot: string,
  sessionId: string,
): Promise<TracedTurn | undefined> {
  const file = path.join(projectRoot, '.chirality', 'state', 'turns', `${sessionId}.json`)
  try {
    return RECORD.parse(JSON.parse(await readOwnFile(file)))
  } catch {
    return undefined
  }
}

/**
 * Kills every agent of this process, and everything they started: for a user who does not wait until they exit by
 * themselves. None of them may be left running.
 */
export async function killAgents(host: SessionHost): Promise<void> {
  // If an agent runs this server, its marker is also on this process and on its other children.
  const outer = new Set(processEnv()[MARKER_VARIABLE]?.split(':'))
  const markers = new Set<string>()
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const marked = await findAllMarked()
    for (const { parentPid, markers: carried } of marked) {
      const own = carried.at(-1)
      if (parentPid === process.pid && own !== undefined && !outer.has(own)) markers.add(own)
    }
    // Agents that an earlier server left are not children of this process.
    const adopted = (await sessionProcesses(host)).flatMap(({ processes }) => processes)
    const ours = marked.filter(({ markers: carried }) => carried.some(marker => markers.has(marker)))
    const pids = new Set([...ours, ...adopted].map(({ pid }) => pid))
    if (pids.size === 0) return
    for (const pid of pids) kill(pid)
  }
}

/** Processes that fork faster than they are listed need another round. */
const MAX_ROUNDS = 5

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has exited since it was listed.
  }
}
