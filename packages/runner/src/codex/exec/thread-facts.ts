import { open, readdir } from 'node:fs/promises'
import path from 'node:path'
import { createCodexExecTranslator, type UsageInfo } from '@chirality/core'

/** Facts that `exec` does not store for a thread that it resumes. */
export interface ThreadFacts {
  /** All tokens so far: `exec` prints only the running total, and a turn must not be charged for earlier turns. */
  usage?: UsageInfo
  /** The model of its last turn. */
  model?: string
}

/** Read from the thread's own file; empty if it cannot be found or read. */
export async function readThreadFacts(
  threadId: string | undefined,
  env: Record<string, string>,
): Promise<ThreadFacts> {
  const home = env.CODEX_HOME ?? (env.HOME && path.join(env.HOME, '.codex'))
  if (threadId === undefined || !home) return {}
  try {
    const file = await findRollout(path.join(home, 'sessions'), threadId)
    return file === undefined ? {} : factsIn(await readEnd(file))
  } catch {
    return {}
  }
}

/** `sessions/2026/01/31/rollout-<time>-<id>.jsonl` */
async function findRollout(sessions: string, threadId: string): Promise<string | undefined> {
  const names = await readdir(sessions, { recursive: true })
  const name = names.find(entry => entry.endsWith(`-${threadId}.jsonl`))
  return name && path.join(sessions, name)
}

/** Both facts are written with every turn, so they are near the end of the file, unless a huge output follows them. */
async function readEnd(file: string): Promise<string> {
  const handle = await open(file, 'r')
  try {
    const { size } = await handle.stat()
    const length = Math.min(size, MAX_END_BYTES)
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length)
    return buffer.toString('utf8')
  } finally {
    await handle.close()
  }
}

const MAX_END_BYTES = 16 * 1024 * 1024

function factsIn(text: string): ThreadFacts {
  const facts: ThreadFacts = {}
  for (const line of text.split('\n').reverse()) {
    if (facts.usage && facts.model) break
    if (!/"(token_count|turn_context)"/.test(line)) continue
    const { type, payload = {} } = parseLine(line)
    if (type === 'turn_context' && typeof payload.model === 'string') facts.model ??= payload.model
    const total = payload.type === 'token_count' && payload.info?.total_token_usage
    if (total) facts.usage ??= readUsage(total)
  }
  return facts
}

interface RolloutLine {
  type?: unknown
  payload?: { type?: unknown; model?: unknown; info?: { total_token_usage?: unknown } | null }
}

function parseLine(line: string): RolloutLine {
  try {
    return JSON.parse(line) as RolloutLine
  } catch {
    // The first line is cut off, or the last one is not complete yet.
    return {}
  }
}

/** Counted by the same rules as the usage that `exec` prints. */
function readUsage(usage: unknown): UsageInfo {
  const translator = createCodexExecTranslator({ sessionId: '' })
  translator.translate({ type: 'turn.completed', usage } as Parameters<typeof translator.translate>[0])
  return translator.usageTotal
}
