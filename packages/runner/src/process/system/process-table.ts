import { execFile } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { errnoOf } from '@chirality/disk'

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
    return parseProcStat(readAtOnce(`/proc/${pid}/stat`))
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT' || code === 'ESRCH') return undefined
    throw error
  }
}

/** With half of the system calls of `readFileSync`: a machine has hundreds of processes, and all of them are read. */
function readAtOnce(path: string): string {
  const fd = openSync(path, 'r')
  try {
    const length = readSync(fd, STAT_BUFFER, 0, STAT_BUFFER.length, 0)
    return STAT_BUFFER.toString('latin1', 0, length)
  } finally {
    closeSync(fd)
  }
}

/** A line of `/proc/<pid>/stat` has 52 numbers and a name of at most 64 characters, and comes whole from one read. */
const STAT_BUFFER = Buffer.allocUnsafeSlow(4096)

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

/** The resources of one process. What the system does not tell is null. */
export interface ProcessUsage {
  pid: number
  /** Program and arguments, as far as they can be read. */
  command: string
  ageMs: number | null
  /** CPU time since its start, of all its threads. */
  cpuMs: number | null
  memoryBytes: number | null
}

/** Processes that exited meanwhile are left out. */
export async function readUsage(pids: readonly number[]): Promise<ProcessUsage[]> {
  if (pids.length === 0) return []
  if (process.platform !== 'linux')
    return parsePsUsage(await runPs(['-ww', '-o', USAGE_COLUMNS, '-p', pids.join(',')]))
  const uptimeS = Number.parseFloat(readFileSync('/proc/uptime', 'latin1'))
  return pids.flatMap(pid => {
    try {
      const [stat, status, command] = ['stat', 'status', 'cmdline'].map(name =>
        readFileSync(`/proc/${pid}/${name}`, 'utf8'),
      )
      return [
        parseProcUsage({ pid, stat: stat ?? '', status: status ?? '', command: command ?? '', uptimeS }),
      ]
    } catch {
      return []
    }
  })
}

export function parseProcUsage(files: {
  pid: number
  stat: string
  status: string
  command: string
  uptimeS: number
}): ProcessUsage {
  const { pid, stat, status, uptimeS } = files
  const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'))
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user, system, started] = [fields[11], fields[12], fields[3 + START_TIME_FIELD]].map(Number)
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]
  return {
    pid,
    command: files.command.split('\0').join(' ').trim() || name,
    ageMs: numberOrNull((uptimeS - Number(started) / TICKS_PER_SECOND) * 1000),
    cpuMs: numberOrNull(((Number(user) + Number(system)) / TICKS_PER_SECOND) * 1000),
    memoryBytes: kilobytes === undefined ? null : Number(kilobytes) * 1024,
  }
}

/** `ps` of macOS: `  501 1-02:03:04 0:05.67 1234 /usr/bin/node server.js`. */
export function parsePsUsage(output: string): ProcessUsage[] {
  return output.split('\n').flatMap(line => {
    const match = /^\s*(\d+)\s+(\S+)\s+(\S+)\s+(\d+)\s+(.*\S)\s*$/.exec(line)
    if (match === null) return []
    const [, pid, age = '', cpu = '', kilobytes, command = ''] = match
    return [
      {
        pid: Number(pid),
        command,
        ageMs: parsePsTime(age),
        cpuMs: parsePsTime(cpu),
        memoryBytes: Number(kilobytes) * 1024,
      },
    ]
  })
}

/** `[days-][hours:]minutes:seconds`. */
function parsePsTime(text: string): number | null {
  const [clock = '', days = '0'] = text.split('-').reverse()
  const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
  return numberOrNull((Number(days) * 86_400 + seconds) * 1000)
}

function numberOrNull(value: number): number | null {
  return Number.isFinite(value) ? Math.max(0, Math.round(value)) : null
}

const USAGE_COLUMNS = 'pid=,etime=,time=,rss=,command='
/** `USER_HZ`, which Linux fixes at 100 for what programs read. */
const TICKS_PER_SECOND = 100
