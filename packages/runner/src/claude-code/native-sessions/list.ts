import type { ListNativeSessionsOptions, NativeSession } from '@chirality/core'
import { asText, type JsonObject } from '../../common/json.ts'
import { DEFAULT_LIMIT, oneLine, realPathOf } from '../../native-sessions/listing.ts'
import { readEnds } from '../../native-sessions/read-lines.ts'
import { type SessionFile, sessionFiles } from './files.ts'
import { promptOf } from './prompt.ts'

export interface ListOptions extends ListNativeSessionsOptions {
  environment: Record<string, string>
}

/**
 * The conversations of Claude Code, newest first. Reads only the beginning and end of each file: there can be
 * thousands.
 */
export async function listClaudeSessions(options: ListOptions): Promise<NativeSession[]> {
  const { environment, cwd, limit = DEFAULT_LIMIT } = options
  const wanted = cwd === undefined ? undefined : await realPathOf(cwd)
  const sessions: NativeSession[] = []
  for (const file of await sessionFiles(environment, cwd)) {
    if (sessions.length >= limit) break
    const session = await describe(file)
    if (session && (wanted === undefined || (await realPathOf(session.cwd)) === wanted))
      sessions.push(session)
  }
  return sessions
}

const LOOK_BYTES = 64 * 1024

/** Undefined for a file without a text that identifies it to a person. */
async function describe(file: SessionFile): Promise<NativeSession | undefined> {
  const ends = await readEnds(file.path, LOOK_BYTES).catch(() => null)
  if (!ends) return undefined
  const { head, tail } = ends
  const lines = [...head, ...tail]
  const cwd = lines.flatMap(line => asText(line.cwd) ?? [])[0]
  const title = titleOf(head, tail)
  if (cwd === undefined || title === undefined) return undefined
  const createdAt = head.flatMap(line => asText(line.timestamp) ?? [])[0]
  return {
    harness: 'claude-code',
    nativeSessionId: file.nativeSessionId,
    cwd,
    title: oneLine(title),
    ...(createdAt ? { createdAt } : {}),
    updatedAt: new Date(file.modifiedMs).toISOString(),
    sizeBytes: file.sizeBytes,
  }
}

function titleOf(head: readonly JsonObject[], tail: readonly JsonObject[]): string | undefined {
  const given = [...tail].reverse().flatMap(line => asText(line.customTitle) ?? [])[0]
  const earlier = head.flatMap(line => asText(line.customTitle) ?? [])[0]
  return given ?? earlier ?? firstPrompt(head) ?? lastPrompt(tail)
}

function firstPrompt(lines: readonly JsonObject[]): string | undefined {
  return lines.flatMap(line => asText(promptOf(line)?.text) ?? [])[0]
}

/** Used if the first message is longer than the part that is read. */
function lastPrompt(lines: readonly JsonObject[]): string | undefined {
  return [...lines].reverse().flatMap(line => asText(line.lastPrompt) ?? [])[0]
}
