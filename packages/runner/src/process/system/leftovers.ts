import { readFileSync } from 'node:fs'
import { listProcesses, type ProcessEntry, runPs } from './process-table.ts'
import { groupMarkers } from './run-group.ts'

/**
 * Set in the environment of every agent and so inherited by all it starts. Tools run in a session and process group
 * of their own, and a daemon has lost its parent, so neither the group nor the family tree finds them all.
 */
export const MARKER_VARIABLE = 'CHIRALITY_RUN'

export interface MarkedProcess extends ProcessEntry {
  /** All markers it carries: an agent that itself runs agents passes its own on. */
  markers: string[]
}

/** Living processes that carry this marker. Never ourselves. */
export async function findByMarker(marker: string): Promise<MarkedProcess[]> {
  const marked = await findAllMarked()
  return marked.filter(entry => entry.markers.includes(marker))
}

/**
 * Every living process that an agent of any Chirality started: by its environment, as far as we may read that, and by the group
 * that its run was enclosed in. Where runs are not enclosed, one that cleared its environment is not found.
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

/** Whether a process is of the run with this marker. */
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

/** Marker of a new run, chained behind the one we carry ourselves if an agent runs us. */
export function chainMarker(marker: string, inherited: string | undefined): string {
  const outer = parseMarkers(inherited)
  return [...outer.slice(-MAX_CHAINED_MARKERS), marker].join(MARKER_SEPARATOR)
}

export function parseMarkers(value: string | undefined): string[] {
  return value?.split(MARKER_SEPARATOR).filter(part => MARKER.test(part)) ?? []
}

/** macOS prints the environment after the command, as words. It hides that of Apple's own protected programs. */
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

/** Of any process whose environment we may read; undefined for the others. */
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
    // Another user's process, or gone since it was listed.
    return undefined
  }
}
