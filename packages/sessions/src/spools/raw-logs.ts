import { lstat, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type FileOps, isAlive, realFileOps, removeIfThere, withStorageErrors } from '@chirality/disk'
import { isSpoolOpen } from '@chirality/runner'
import { CHIRALITY_FOLDER, findProjectFolder, realProjectRoot } from '../files/project-folder.ts'
import { sessionsWithFiles } from '../files/session-id.ts'
import { KeptAgentsFile } from '../turns/record/kept-agents-file.ts'
import { sessionsWithRecords, TurnRecordFile } from '../turns/record/turn-record.ts'
import type { RawLogRule } from './raw-log-rule.ts'

/** What an agent printed in one run: a spool and what it wrote to stderr. */
export interface RawLog {
  projectRoot: string
  harness: string
  /** The name of both files, without their endings. */
  name: string
  bytes: number
  /** When it was last written to, in milliseconds. */
  writtenAt: number
  /** An agent is running that writes to it, or a turn that is not stored completely is read from it. */
  isInUse: boolean
}

/**
 * The raw logs of a project, oldest first. Only the view of raw lines reads one whose turn is stored: history, search,
 * export, forks and resumed conversations have files of their own.
 */
export function listRawLogs(
  projectRoot: string,
  { atWork = new Set(), ops = realFileOps }: { atWork?: ReadonlySet<string>; ops?: FileOps } = {},
): Promise<RawLog[]> {
  return withStorageErrors(projectRoot, async () => {
    const root = realProjectRoot(projectRoot)
    const logs = await findProjectFolder(root, 'logs')
    if (logs === undefined) return []
    const isNeeded = await neededLogs(root, atWork, ops)
    const found = ops.readdir(logs).flatMap(harness => {
      const folder = join(logs, harness)
      return ops.lstat(folder)?.isDirectory() ? logsIn(folder, harness, root, ops) : []
    })
    return found
      .map(log => ({ ...log, isInUse: isNeeded(log.name) || isSpoolOpen(`${baseOf(logs, log)}.ndjson`) }))
      .sort((a, b) => a.writtenAt - b.writtenAt)
  })
}

/** The logs that a rule does not keep. Those in use are kept, but they count for the size. */
export function logsToPrune(
  logs: readonly RawLog[],
  rule: RawLogRule,
  now: number = Date.now(),
): { going: RawLog[]; inUse: RawLog[] } {
  const overdue = overdueLogs(logs, rule, now)
  return { going: overdue.filter(log => !log.isInUse), inUse: overdue.filter(log => log.isInUse) }
}

function overdueLogs(logs: readonly RawLog[], rule: RawLogRule, now: number): RawLog[] {
  if (rule.keep === 'forever') return []
  if (rule.keep === 'days') return logs.filter(({ writtenAt }) => now - writtenAt > rule.days * DAY_MS)
  let excess = logs.reduce((sum, { bytes }) => sum + bytes, 0) - rule.bytes
  return [...logs]
    .sort((a, b) => a.writtenAt - b.writtenAt)
    .filter(log => {
      if (excess <= 0) return false
      // One in use frees nothing, so a newer one goes instead.
      if (!log.isInUse) excess -= log.bytes
      return true
    })
}

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Deletes the files of some raw logs of a project that this process owns. One that was written to since it was listed
 * is kept. A process that is killed meanwhile leaves whole logs, and at most one without its spool.
 */
export async function removeRawLogs(logs: readonly RawLog[], ops: FileOps = realFileOps): Promise<RawLog[]> {
  const removed: RawLog[] = []
  for (const log of logs) {
    const folder = await findProjectFolder(log.projectRoot, 'logs')
    if (folder !== undefined && removeLog(baseOf(folder, log), log, ops)) removed.push(log)
  }
  return removed
}

function removeLog(base: string, { writtenAt }: RawLog, ops: FileOps): boolean {
  const stats = ENDINGS.map(ending => ops.lstat(`${base}${ending}`))
  const isChanged = stats.some(found => found !== undefined && found.mtimeMs > writtenAt)
  if (isChanged || isSpoolOpen(`${base}.ndjson`)) return false
  ENDINGS.forEach((ending, index) => {
    if (stats[index]) removeIfThere(ops, `${base}${ending}`)
  })
  return true
}

function baseOf(logs: string, { harness, name }: Pick<RawLog, 'harness' | 'name'>): string {
  return join(logs, harness, name)
}

const ENDINGS = ['.ndjson', '.stderr', '.sent'] as const
/** `<time>-<session>-<turn>`, the runner's name for spools. Files with other names are not ours to delete. */
const LOG_NAME = /^(\d{8}T\d{9}Z-[A-Za-z0-9_-]+)\.(?:ndjson|stderr|sent)$/

function logsIn(
  folder: string,
  harness: string,
  projectRoot: string,
  ops: FileOps,
): Omit<RawLog, 'isInUse'>[] {
  const logs = new Map<string, Omit<RawLog, 'isInUse'>>()
  for (const file of ops.readdir(folder)) {
    const name = LOG_NAME.exec(file)?.[1]
    const stats = name === undefined ? undefined : ops.lstat(join(folder, file))
    if (name === undefined || !stats?.isFile()) continue
    const { bytes = 0, writtenAt = 0 } = logs.get(name) ?? {}
    logs.set(name, {
      projectRoot,
      harness,
      name,
      bytes: bytes + stats.size,
      writtenAt: Math.max(writtenAt, stats.mtimeMs),
    })
  }
  return [...logs.values()]
}

/** Which logs running agents write to, and a later host would read a turn from. */
async function neededLogs(
  projectRoot: string,
  atWork: ReadonlySet<string>,
  ops: FileOps,
): Promise<(name: string) => boolean> {
  const sessions = new Set(atWork)
  const names = new Set<string>()
  let isAnyUnknown = false
  for (const id of await sessionsWithRecords(projectRoot, ops)) {
    sessions.add(id)
    const record = await new TurnRecordFile(projectRoot, id, ops).read().catch(() => undefined)
    if (record === undefined) isAnyUnknown = true
    for (const { spoolPath } of record?.processes ?? []) names.add(basename(spoolPath, '.ndjson'))
  }
  for (const id of await sessionsWithFiles(projectRoot, ['state', 'agents'], ops)) {
    const agents = await new KeptAgentsFile(projectRoot, id, ops).read().catch(() => undefined)
    if (agents === undefined) isAnyUnknown = true
    // The file stays as long as its session is open. An id that another process has now only keeps a log longer.
    for (const { pid, spoolPath } of agents ?? []) if (isAlive(pid)) names.add(basename(spoolPath, '.ndjson'))
  }
  // A record that cannot be read may be of a turn in any log.
  return name => isAnyUnknown || names.has(name) || [...sessions].some(id => name.includes(`Z-${id}-`))
}

/** What a project's own folder takes on the disk, in bytes. Worktrees are elsewhere. */
export interface DiskUse {
  /** All events of the sessions. */
  events: number
  rawLogs: number
  /** Snapshots of the files before and after each turn. */
  turnTrees: number
  /** Sessions, conversations of agents without a store of their own, loops, state. */
  other: number
}

/** A folder that goes away meanwhile takes nothing. */
export async function diskUseOf(projectRoot: string): Promise<DiskUse> {
  const folder = join(projectRoot, CHIRALITY_FOLDER)
  const [all, events, rawLogs, turnTrees] = await Promise.all(
    [[], ['events'], ['logs'], ['state', 'snapshots']].map(parts => bytesIn(join(folder, ...parts))),
  )
  const known = { events: events ?? 0, rawLogs: rawLogs ?? 0, turnTrees: turnTrees ?? 0 }
  return { ...known, other: Math.max(0, (all ?? 0) - known.events - known.rawLogs - known.turnTrees) }
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0
  const folders = [folder]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const here = next
    const entries = await readdir(here, { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const path = join(here, entry.name)
      if (entry.isDirectory()) folders.push(path)
      else bytes += (await lstat(path).catch(() => undefined))?.size ?? 0
    }
  }
  return bytes
}
