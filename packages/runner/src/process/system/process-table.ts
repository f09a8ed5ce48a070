import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { errnoOf } from '../../common/errno.ts'

export interface ProcessIdentity {
  pid: number
  /** Opaque; together with the pid it identifies one process, although pids are reused. */
  startedAt: string
}

export interface ProcessEntry extends ProcessIdentity {
  parentPid: number
  groupId: number
  /** Exited, but not reaped by its parent. A plain `kill -0` reports it as alive. */
  zombie: boolean
}

export async function listProcesses(): Promise<ProcessEntry[]> {
  if (process.platform === 'linux') return listFromProc()
  return parsePs(await runPs(['-axww', '-o', PS_COLUMNS]))
}

/** One process, or undefined if the pid is not in use. */
export async function readProcess(pid: number): Promise<ProcessEntry | undefined> {
  if (process.platform === 'linux') return readProcStat(pid)
  return parsePs(await runPs(['-ww', '-o', PS_COLUMNS, '-p', String(pid)]))[0]
}

/** The start time of a process, read synchronously; undefined if the system cannot provide it so quickly. */
export function startTimeNow(pid: number): string | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    return readProcStat(pid)?.startedAt
  } catch {
    return undefined
  }
}

/** The processes that still run. Another process that reuses one of the pids does not count. */
export async function stillRunning<T extends ProcessIdentity>(entries: T[]): Promise<T[]> {
  try {
    // Except on Linux, looking up one process costs as much as listing all: each is a `ps`.
    const table =
      process.platform === 'linux' ? entries.map(({ pid }) => readProcStat(pid)) : await listProcesses()
    const current = new Map(table.flatMap(entry => (entry === undefined ? [] : [[entry.pid, entry]])))
    return entries.filter(({ pid, startedAt }) => {
      const now = current.get(pid)
      return now !== undefined && !now.zombie && now.startedAt === startedAt
    })
  } catch {
    // Probably out of file descriptors. One signal too many is better than a process that is left running.
    return entries.filter(({ pid }) => sendSignal(pid, 0))
  }
}

/** False if the process has exited, or this process may not signal it. */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

export function runPs(args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('/bin/ps', args, { env: { LC_ALL: 'C' }, maxBuffer: PS_MAX_BYTES }, (error, stdout) => {
      // `ps -p` exits with 1 if the pid is not in use, with empty output. Any other failure does not mean that nothing
      // runs.
      if (error === null || error.code === 1) resolve(stdout)
      else reject(error)
    })
  })
}

export function parsePs(output: string): ProcessEntry[] {
  return output.split('\n').flatMap(line => {
    const match = PS_LINE.exec(line)
    if (match === null) return []
    const [, pid, parentPid, groupId, state = '', startedAt = ''] = match
    return [
      {
        pid: Number(pid),
        parentPid: Number(parentPid),
        groupId: Number(groupId),
        startedAt,
        zombie: state.startsWith('Z'),
      },
    ]
  })
}

const PS_MAX_BYTES = 64 * 1024 * 1024
const PS_COLUMNS = 'pid=,ppid=,pgid=,stat=,lstart='
// `lstart` is five words: `Sat Nov 16 02:56:01 2024`.
const PS_LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s*$/

function listFromProc(): ProcessEntry[] {
  return readdirSync('/proc').flatMap(name => {
    const pid = Number(name)
    return Number.isInteger(pid) ? (readProcStat(pid) ?? []) : []
  })
}

function readProcStat(pid: number): ProcessEntry | undefined {
  try {
    return parseProcStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT' || code === 'ESRCH') return undefined
    throw error
  }
}

/** The second field is the program's name in parentheses, and may itself contain parentheses and spaces. */
export function parseProcStat(text: string): ProcessEntry | undefined {
  const pid = Number.parseInt(text, 10)
  const [state, parentPid, groupId, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const startedAt = rest[START_TIME_FIELD]
  if (Number.isNaN(pid) || state === undefined || startedAt === undefined) return undefined
  return {
    pid,
    parentPid: Number(parentPid),
    groupId: Number(groupId),
    startedAt,
    zombie: state === 'Z' || state === 'X',
  }
}

/** Field 22 of proc(5), counted from field 6. */
const START_TIME_FIELD = 16
