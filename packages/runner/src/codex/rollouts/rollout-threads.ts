import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import type { NativeSession } from '@chirality/core'
import { asNumber, asObject, asObjects, asText, type JsonObject } from '../../common/json.ts'
import type { ConversationKeeper } from '../../native-sessions/conversation-files.ts'
import { oneLine } from '../../native-sessions/listing.ts'
import { readEnds, readLines } from '../../native-sessions/read-lines.ts'
import { CODEX_ID } from '../descriptor.ts'
import { isAboutThread, rolloutTurns } from './rollout-turns.ts'
import type { ThreadHistory } from './thread.ts'

/** Reads threads from Codex's files, for a Codex whose app-server is not available. */
export async function listRollouts(
  environment: Record<string, string>,
  { cwds, limit }: { cwds: string[] | undefined; limit: number },
): Promise<NativeSession[]> {
  const names = await threadNames(environment)
  const sessions: NativeSession[] = []
  for (const file of await rolloutFiles(environment)) {
    if (sessions.length >= limit) break
    const session = await describe(file, names)
    if (session && (!cwds || cwds.includes(session.cwd))) sessions.push(session)
  }
  return sessions
}

/**
 * Undefined if there is no file for this thread. A fork's file has only its own lines; earlier ones are in its
 * parent's.
 */
export async function readRollout(
  environment: Record<string, string>,
  threadId: string,
): Promise<ThreadHistory | undefined> {
  const { own, lines, missing } = await readThreadLines(environment, threadId, isAboutThread)
  if (!own) return undefined
  const metas = lines.filter(line => line.type === 'session_meta').map(line => asObject(line.payload))
  const meta = asObject(metas.findLast(({ cwd }) => asText(cwd)))
  const context = asObject(lines.findLast(line => line.type === 'turn_context')?.payload)
  return {
    id: threadId,
    cwd: asText(meta.cwd) ?? '',
    model: asText(context.model),
    version: asText(meta.cli_version),
    createdAt: asText(meta.timestamp),
    updatedAt: new Date(own.modifiedMs).toISOString(),
    turns: rolloutTurns(lines),
    missing,
  }
}

/** The files of a thread and of those that it was forked from, below the agent's own folder. */
export function codexConversations(environment: Record<string, string>): ConversationKeeper {
  return {
    harnessId: CODEX_ID,
    find: async ({ nativeSessionId }) => {
      const folder = codexHome(environment)
      const files = new Map((await rolloutFiles(environment)).map(file => [file.threadId, file]))
      const names: string[] = []
      let file = files.get(nativeSessionId)
      while (file !== undefined && names.length < MAX_FORKS) {
        names.push(path.relative(folder, file.path))
        files.delete(file.threadId)
        const { head } = await readEnds(file.path, LOOK_BYTES).catch(() => ({ head: [] }))
        const meta = asObject(head.find(line => line.type === 'session_meta')?.payload)
        file = files.get(asText(asObject(meta.history_base).thread_id) ?? '')
      }
      return { folder, names }
    },
    folder: async () => codexHome(environment),
    isName: name => /^sessions\/\d{4}\/\d\d\/\d\d\/[^/]+$/.test(name) && ROLLOUT.test(path.basename(name)),
  }
}

/** The wanted lines of a thread, after those of the threads that it was forked from. */
export async function readThreadLines(
  environment: Record<string, string>,
  threadId: string,
  isWanted: (line: JsonObject) => boolean,
): Promise<ThreadLines> {
  const files = new Map(
    (await rolloutFiles(environment, { archived: true })).map(file => [file.threadId, file]),
  )
  const own = files.get(threadId)
  return own ? { own, ...(await linesWithParents(own, files, isWanted)) } : { lines: [], missing: 0 }
}

interface ThreadLines {
  /** Undefined if there is no file for this thread. */
  own?: RolloutFile
  lines: JsonObject[]
  missing: number
}

/** The first lines hold the instructions and all tools; the first message follows them. */
const LOOK_BYTES = 512 * 1024
const MAX_NAMES_BYTES = 16 * 1024 * 1024
/** Limits the chain of forks; without a limit a cycle would never end. */
const MAX_FORKS = 50

async function linesWithParents(
  own: RolloutFile,
  files: ReadonlyMap<string, RolloutFile>,
  isWanted: (line: JsonObject) => boolean,
): Promise<{ lines: JsonObject[]; missing: number }> {
  const parts: JsonObject[][] = []
  let missing = 0
  let file: RolloutFile | undefined = own
  let end = Number.POSITIVE_INFINITY
  for (let forks = 0; file && forks < MAX_FORKS; forks++) {
    const read = await readLines(file.path, { isWanted }).catch(() => null)
    missing += read ? read.unreadable + (read.isCut ? 1 : 0) : 1
    const before = end
    const lines = (read?.lines ?? []).filter(({ ordinal }) => (asNumber(ordinal) ?? 0) < before)
    parts.unshift(lines)
    const base = asObject(asObject(lines.find(line => line.type === 'session_meta')?.payload).history_base)
    const parentId = asText(base.thread_id)
    end = asNumber(base.end_ordinal_exclusive) ?? Number.POSITIVE_INFINITY
    file = parentId === undefined ? undefined : files.get(parentId)
    if (parentId !== undefined && !file) missing += 1
  }
  return { lines: parts.flat(), missing }
}

async function describe(
  file: RolloutFile,
  names: ReadonlyMap<string, string>,
): Promise<NativeSession | undefined> {
  const { head } = await readEnds(file.path, LOOK_BYTES).catch(() => ({ head: [] }))
  const meta = asObject(head.find(line => line.type === 'session_meta')?.payload)
  const cwd = asText(meta.cwd)
  const title = names.get(file.threadId) ?? firstMessage(head)
  // A source that is not a string belongs to a sub-agent.
  if (cwd === undefined || title === undefined || typeof meta.source !== 'string') return undefined
  const createdAt = asText(meta.timestamp)
  return {
    harness: 'codex',
    nativeSessionId: file.threadId,
    cwd,
    title: oneLine(title),
    ...(createdAt ? { createdAt } : {}),
    updatedAt: new Date(file.modifiedMs).toISOString(),
    sizeBytes: file.sizeBytes,
  }
}

function firstMessage(lines: readonly JsonObject[]): string | undefined {
  const items = rolloutTurns(lines.filter(isAboutThread)).flatMap(turn => turn.items)
  const content = asObjects(items.find(item => item.type === 'userMessage')?.content)
  return content.flatMap(part => asText(part.text) ?? [])[0]
}

/** Names that the user gave; the last one counts. */
async function threadNames(environment: Record<string, string>): Promise<Map<string, string>> {
  const file = path.join(codexHome(environment), 'session_index.jsonl')
  if (!(await stat(file).catch(() => null))?.isFile()) return new Map()
  const isWanted = (line: JsonObject) => asText(line.thread_name) !== undefined
  const { lines } = await readLines(file, { isWanted, maxBytes: MAX_NAMES_BYTES }).catch(() => ({
    lines: [],
  }))
  return new Map(lines.map(line => [String(line.id), String(line.thread_name)]))
}

export interface RolloutFile {
  threadId: string
  path: string
  modifiedMs: number
  sizeBytes: number
}

export function codexHome(environment: Record<string, string>): string {
  return environment.CODEX_HOME || path.join(environment.HOME ?? '', '.codex')
}

/** Newest first. `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`; archived threads are in a folder of their own. */
export async function rolloutFiles(
  environment: Record<string, string>,
  { archived = false }: { archived?: boolean } = {},
): Promise<RolloutFile[]> {
  const folders = archived ? ['sessions', 'archived_sessions'] : ['sessions']
  const home = codexHome(environment)
  const found = await Promise.all(folders.map(folder => walk(path.join(home, folder), MAX_DEPTH)))
  return found.flat().sort((a, b) => b.modifiedMs - a.modifiedMs)
}

const MAX_DEPTH = 4
const ROLLOUT = /^rollout-.*-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/

async function walk(folder: string, depth: number): Promise<RolloutFile[]> {
  if (depth === 0) return []
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const found = entries.map(async entry => {
    const file = path.join(folder, entry.name)
    if (entry.isDirectory()) return walk(file, depth - 1)
    const threadId = ROLLOUT.exec(entry.name)?.[1]
    const info = threadId === undefined ? null : await stat(file).catch(() => null)
    if (threadId === undefined || !info?.isFile()) return []
    return [{ threadId, path: file, modifiedMs: info.mtimeMs, sizeBytes: info.size }]
  })
  return (await Promise.all(found)).flat()
}
