import { join } from 'node:path'
import { type FileOps, realFileOps } from '@chirality/disk'
import { isAppServerSpool } from '@chirality/runner'
import { findProjectFolder } from '../files/project-folder.ts'
import { type SpoolEntry, SpoolIndex } from '../store/spool-index.ts'
import { TurnRecordFile } from '../turns/record/turn-record.ts'

/** The output of one turn in one spool. */
export interface SpoolPart extends SpoolEntry {
  /** The start of the next turn in the same spool; undefined for the end of the file. */
  to?: number
}

/** All parts of a session, oldest first: those that its turns recorded, and unrecorded ones by file name. */
export async function findSpoolParts(
  projectRoot: string,
  sessionId: string,
  ops: FileOps = realFileOps,
): Promise<SpoolPart[]> {
  const noted = [
    ...(await new SpoolIndex(projectRoot, sessionId, ops).read()),
    ...(await entriesOfRecord(projectRoot, sessionId, ops)),
  ].filter(entry => belongsTo(sessionId, entry))
  const names = new Set(noted.map(spoolKey))
  const named = (await entriesByName(projectRoot, sessionId, ops)).filter(
    entry => !names.has(spoolKey(entry)),
  )
  // The sort is stable: entries of the same millisecond stay in recorded order.
  return withEnds(unique([...noted, ...named].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))))
}

/** `<time>-<session>-<turn>.ndjson`, the runner's name for spools. */
const SPOOL_NAME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-([A-Za-z0-9_-]+)\.ndjson$/
const HARNESS_NAME = /^[A-Za-z0-9_-]{1,64}$/
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The running turn, or one that an earlier host left. Its trace is written before its first line. */
async function entriesOfRecord(projectRoot: string, sessionId: string, ops: FileOps): Promise<SpoolEntry[]> {
  const record = await new TurnRecordFile(projectRoot, sessionId, ops).read()
  return (record?.processes ?? []).map(({ spoolPath, spoolOffset: from, nativeSessionIds }) => ({
    turnId: record?.turnId ?? '',
    at: record?.startedAt ?? '',
    harness: record?.harness ?? '',
    spool: spoolPath.slice(spoolPath.lastIndexOf('/') + 1),
    from,
    ...(nativeSessionIds === undefined ? {} : { nativeSessionIds }),
  }))
}

/** Spools from before there was an index, or whose entry was lost. */
async function entriesByName(projectRoot: string, sessionId: string, ops: FileOps): Promise<SpoolEntry[]> {
  const logs = await findProjectFolder(projectRoot, 'logs')
  if (logs === undefined) return []
  return ops.readdir(logs).flatMap(harness => {
    const folder = join(logs, harness)
    if (!HARNESS_NAME.test(harness) || !ops.lstat(folder)?.isDirectory()) return []
    return ops.readdir(folder).flatMap(spool => {
      const turnId = turnInName(spool, sessionId)
      return turnId === undefined ? [] : [{ turnId, at: timeInName(spool), harness, spool, from: 0 }]
    })
  })
}

/** The file is untrusted: of another session's spool, only the lines of this session's conversation count. */
function belongsTo(sessionId: string, { harness, spool, nativeSessionIds }: SpoolEntry): boolean {
  if (!HARNESS_NAME.test(harness) || !SPOOL_NAME.test(spool)) return false
  if (isAppServerSpool(spool)) return (nativeSessionIds?.length ?? 0) > 0
  return idsInName(spool).startsWith(`${sessionId}-`)
}

/** Undefined for another session, including one whose id starts with the same characters. */
function turnInName(spool: string, sessionId: string): string | undefined {
  const ids = idsInName(spool)
  const turnId = ids.startsWith(`${sessionId}-`) ? ids.slice(sessionId.length + 1) : ''
  return UUID.test(turnId) ? turnId : undefined
}

function idsInName(spool: string): string {
  return SPOOL_NAME.exec(spool)?.[8] ?? ''
}

function timeInName(spool: string): string {
  return spool.replace(SPOOL_NAME, '$1-$2-$3T$4:$5:$6.$7Z')
}

function spoolKey({ harness, spool }: SpoolEntry): string {
  return `${harness}/${spool}`
}

function unique(entries: SpoolEntry[]): SpoolEntry[] {
  const seen = new Set<string>()
  return entries.filter(entry => {
    const key = partKey(entry)
    return !seen.has(key) && seen.add(key)
  })
}

/** A process that is kept between turns has one spool for all of them: each turn ends where the next one starts. */
function withEnds(entries: SpoolEntry[]): SpoolPart[] {
  const ends = new Map<string, number>()
  const later = new Map<string, number>()
  for (const entry of [...entries].sort((a, b) => b.from - a.from)) {
    const end = later.get(spoolKey(entry))
    if (end !== undefined) ends.set(partKey(entry), end)
    later.set(spoolKey(entry), entry.from)
  }
  return entries.map(entry => {
    const to = ends.get(partKey(entry))
    return to === undefined ? entry : { ...entry, to }
  })
}

function partKey(entry: SpoolEntry): string {
  return `${spoolKey(entry)}#${entry.from}`
}
