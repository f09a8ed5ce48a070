import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import {
  findAllMarked,
  MARKER_VARIABLE,
  type MarkedProcess,
  parseMarkers,
  processEnv,
  readUsage,
  sendSignal,
  stillRunning,
} from '@chirality/runner'
import type { SessionHost, SessionStatus } from '@chirality/sessions'
import { z } from 'zod'
import { callError } from '../errors.ts'
import { readRegularFile } from '../files/read-file.ts'
import type * as answers from '../shapes/sessions.ts'

export type SessionProcesses = z.infer<typeof answers.processesShape>

/**
 * The processes of sessions, found by the marker that each inherits: those of running turns, and agents that are kept
 * between turns with all that they started.
 */
export async function sessionProcesses(
  host: SessionHost,
  isWanted: (status: SessionStatus) => boolean = () => true,
): Promise<SessionProcesses[]> {
  const statuses = host.statuses()
  const traced = await Promise.all(statuses.map(async status => ({ status, ...(await tracesOf(status)) })))
  const wanted = traced.filter(({ status, processes }) => isWanted(status) && processes.length > 0)
  if (wanted.length === 0) return []
  const marked = await findAllMarked()
  const usedBy = new Map<string, number>()
  for (const { processes } of traced)
    for (const marker of new Set(processes.map(one => one.marker)))
      usedBy.set(marker, (usedBy.get(marker) ?? 0) + 1)
  const found = wanted.map(({ status, turnId, harness, processes: agents }) => {
    const markers = new Set(agents.map(({ marker }) => marker))
    const ours = marked.filter(entry => entry.markers.some(marker => markers.has(marker)))
    const isShared = (entry: MarkedProcess) =>
      entry.markers.some(marker => markers.has(marker) && (usedBy.get(marker) ?? 0) > 1)
    const roleOf = (entry: MarkedProcess) => {
      if (isShared(entry)) return 'shared-agent' as const
      return hasAgent(agents) && agents.some(agent => isSame(agent, entry))
        ? ('agent' as const)
        : ('started' as const)
    }
    const { sessionId } = status
    return { sessionId, turnId, harness, ours: ours.map(entry => ({ entry, role: roleOf(entry) })) }
  })
  const pids = found.flatMap(({ ours }) => ours.map(({ entry }) => entry.pid))
  const usage = new Map((await readUsage([...new Set(pids)])).map(one => [one.pid, one]))
  return found.flatMap(({ ours, ...session }) => {
    const processes = ours.flatMap(({ entry: { pid, parentPid, startedAt }, role }) => {
      const { command, ageMs, cpuMs, memoryBytes } = usage.get(pid) ?? {}
      if (command === undefined) return []
      const shown = command.slice(0, MAX_COMMAND_CHARS)
      return [{ pid, parentPid, startedAt, role, command: shown, ageMs, cpuMs, memoryBytes }]
    })
    return processes.length > 0 ? [{ ...session, processes: processes.map(known) }] : []
  })
}

/**
 * The session whose agent started a process with this marker. Null without one, as for a program that the user starts.
 * One that nobody knows is refused: it is of an agent that ended, or of another server, and not the user's program.
 */
export async function sessionOfMarker(host: SessionHost, marker = ''): Promise<string | null> {
  const carried = new Set(parseMarkers(marker))
  if (marker !== '' && carried.size < new Set(marker.split(':')).size)
    throw callError('invalid-input', 'No Chirality made this marker: CHIRALITY_RUN is passed on unchanged.')
  // If an agent runs this server, its marker is also on the programs that the user of this server starts.
  for (const outer of parseMarkers(processEnv()[MARKER_VARIABLE])) carried.delete(outer)
  if (carried.size === 0) return null
  for (const status of host.statuses()) {
    const { processes } = await tracesOf(status)
    if (processes.some(one => carried.has(one.marker))) return status.sessionId
  }
  throw callError(
    'invalid-input',
    'No agent that this server runs has this marker: it ended, or another server runs it. A program of your own is started without CHIRALITY_RUN.',
  )
}

type SessionProcess = SessionProcesses['processes'][number]

function known({ ageMs = null, cpuMs = null, memoryBytes = null, ...rest }: Loose): SessionProcess {
  return { ...rest, ageMs, cpuMs, memoryBytes }
}

type Loose = Omit<SessionProcess, 'ageMs' | 'cpuMs' | 'memoryBytes'> & {
  [K in 'ageMs' | 'cpuMs' | 'memoryBytes']?: number | null | undefined
}

const MAX_COMMAND_CHARS = 500

/**
 * Ends a process that an agent of the session started, with what it started itself. It is looked up anew: a pid from a
 * page proves nothing, and may belong to another program by now.
 */
export async function endProcess(
  host: SessionHost,
  sessionId: string,
  { pid, startedAt }: Pick<SessionProcess, 'pid' | 'startedAt'>,
): Promise<{ ended: number; left: number }> {
  const [session] = await sessionProcesses(host, status => status.sessionId === sessionId)
  const processes = session?.processes ?? []
  const wanted = processes.find(one => one.pid === pid && one.startedAt === startedAt)
  if (wanted === undefined)
    throw callError('not-found', 'This session has no such process any more. It may have ended by itself.')
  if (wanted.role !== 'started') throw callError('unsupported', REFUSED[wanted.role])
  const family = [wanted]
  for (const parent of family)
    family.push(...processes.filter(one => one.parentPid === parent.pid && !family.includes(one)))
  for (const one of await stillRunning(family)) sendSignal(one.pid, 'SIGTERM')
  let left = await gone(family, GRACE_MS)
  for (const one of left) sendSignal(one.pid, 'SIGKILL')
  left = await gone(left, GRACE_MS)
  return { ended: family.length - left.length, left: left.length }
}

const REFUSED = {
  agent: 'This is the agent itself. Stop the turn, or end it by force.',
  'shared-agent': 'This process also works for other sessions. Stop the turn instead.',
}

/** The processes that still run after the time. */
async function gone(processes: SessionProcess[], withinMs: number): Promise<SessionProcess[]> {
  const until = Date.now() + withinMs
  let left = await stillRunning(processes)
  while (left.length > 0 && Date.now() < until) {
    await setTimeout(CHECK_MS)
    left = await stillRunning(left)
  }
  return left
}

const GRACE_MS = 3000
const CHECK_MS = 50

const PROCESSES = z.array(z.object({ pid: z.number(), startTime: z.string(), marker: z.string() }))
const RECORD = z.object({ turnId: z.string(), harness: z.string(), processes: PROCESSES })
const KEPT = z.object({ processes: PROCESSES })

export type TracedTurn = z.infer<typeof RECORD>
export type TracedProcess = TracedTurn['processes'][number]

/** A pid alone can be reused. */
export function isSame({ pid, startTime }: TracedProcess, entry: MarkedProcess): boolean {
  return entry.pid === pid && (startTime === '' || entry.startedAt === startTime)
}

/**
 * The Messages API loop runs inside this server and has an id that no system assigns; the other processes of such a
 * turn are commands, which count as left over.
 */
export function hasAgent(traced: readonly TracedProcess[]): boolean {
  return traced.every(({ pid }) => pid < NO_PROCESS_ID)
}

const NO_PROCESS_ID = 2 ** 31 - 1

async function tracesOf({ projectRoot, sessionId, phase }: SessionStatus) {
  const turn = phase === 'idle' ? undefined : await tracedProcesses(projectRoot, sessionId)
  const kept = await readRecord(KEPT, projectRoot, ['agents', sessionId])
  const processes = [...(turn?.processes ?? []), ...(kept?.processes ?? [])]
  return { turnId: turn?.turnId ?? null, harness: turn?.harness ?? null, processes }
}

export function tracedProcesses(projectRoot: string, sessionId: string): Promise<TracedTurn | undefined> {
  return readRecord(RECORD, projectRoot, ['turns', sessionId])
}

async function readRecord<T>(
  schema: z.ZodType<T>,
  projectRoot: string,
  [kind, sessionId]: ['turns' | 'agents', string],
): Promise<T | undefined> {
  const file = path.join(projectRoot, '.chirality', 'state', kind, `${sessionId}.json`)
  try {
    return schema.parse(JSON.parse(await readRegularFile(file)))
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
