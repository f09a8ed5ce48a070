import { readFileSync } from 'node:fs'
import { listProcesses, type ProcessEntry, runPs } from './process-table.ts'
import { groupMarkers } from './run-group.ts'

/**
 * Set in the environment of every agent and inherited by everything it starts. Tools run in a session and process group
 * of their own, and a daemon has lost its parent, so neither the group nor the process tree finds all of them.
 */
export const MARKER_VARIABLE = 'CHIRALITY_RUN'

export interface MarkedProcess extends ProcessEntry {
  /** All markers in its environment: an agent that itself runs agents passes its own on. */
  markers: string[]
}

/** Living processes with this marker, except this process. */
export async function findByMarker(marker: string): Promise<MarkedProcess[]> {
  const marked = await findAllMarked()
  return marked.filter(entry => entry.markers.includes(marker))
}

/**
 * Every living process that an agent of any Chirality server started, found by its environment, if that is readable,
 * and by the cgroup of its run. Without cgroups, a process that cleared its environment is not found.
 */
export async function findAllMarked(table?: ProcessEntry[]): Promise<MarkedProcess[]> {
  const all = table ?? (await listProcesses())
  const entries = all.filter(entry => !entry.zombie && entry.pid !== process.pid)
  const read = await variableReader(MARKER_VARIABLE)
  return entries.flatMap(entry => {
    const markers = [...parseMarkers(read(entry.pid)), ...groupMarkers(entry.pid)]
    return markers.length > 0 ? [{ ...entry, markers }] : []
  })
}

/** Whether a process belongs to the run with this marker. */
export async function carriesMarker(pid: number, marker: string): Promise<boolean> {
  if (groupMarkers(pid).includes(marker)) return true
  const read = await variableReader(MARKER_VARIABLE)
  return parseMarkers(read(pid)).includes(marker)
}

/** Those of the marked processes that also have this variable in their environment. */
export async function withVariable<T extends ProcessEntry>(
  entries: T[],
  { name, value }: { name: string; value: string },
): Promise<T[]> {
  const read = await variableReader(name)
  return entries.filter(({ pid }) => read(pid) === value)
}

/** The marker of a new run. If an agent runs this process, its marker comes first. */
export function chainMarker(marker: string, inherited: string | undefined): string {
  const outer = parseMarkers(inherited)
  return [...outer.slice(-MAX_CHAINED_MARKERS), marker].join(MARKER_SEPARATOR)
}

export function parseMarkers(value: string | undefined): string[] {
  return value?.split(MARKER_SEPARATOR).filter(part => MARKER.test(part)) ?? []
}

/** macOS prints the environment after the command, as words. It hides the environment of Apple's protected programs. */
export function parsePsEnvironments(output: string, name: string): Map<number, string> {
  const inPs = new RegExp(`\\s${name}=(\\S+)`)
  const found = new Map<number, string>()
  for (const line of output.split('\n')) {
    const value = inPs.exec(line)?.[1]
    if (value !== undefined) found.set(Number.parseInt(line, 10), value)
  }
  return found
}

const MARKER_SEPARATOR = ':'
const MARKER = /^[A-Za-z0-9-]{8,64}$/
const MAX_CHAINED_MARKERS = 8

/** The markers of a process whose environment is readable; undefined for others. */
async function variableReader(name: string): Promise<(pid: number) => string | undefined> {
  if (process.platform === 'linux') return pid => readProcVariable(pid, name)
  const environments = parsePsEnvironments(await runPs(['-axwwE', '-o', 'pid=,command=']), name)
  return pid => environments.get(pid)
}

function readProcVariable(pid: number, name: string): string | undefined {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1')
    if (!environment.includes(name)) return undefined
    const prefix = `${name}=`
    return environment
      .split('\0')
      .find(variable => variable.startsWith(prefix))
      ?.slice(prefix.length)
  } catch {
    // The process belongs to another user, or has exited since it was listed.
    return undefined
  }
}
