import { open, readdir } from 'node:fs/promises'
import path from 'node:path'
import { createCodexExecTranslator, type UsageInfo } from '@chirality/core'

export type ThreadUsage = UsageInfo

/**
 * The tokens that a thread has used so far, from its own file. `exec` only tells the running total, so without this
 * every turn would be charged for all before it. Undefined when it cannot be found out.
 */
export async function threadUsage(
  threadId: string | undefined,
  env: Record<string, string>,
): Promise<ThreadUsage | undefined> {
  const home = env.CODEX_HOME ?? (env.HOME && path.join(env.HOME, '.codex'))
  if (threadId === undefined || !home) return undefined
  try {
    const file = await findRollout(path.join(home, 'sessions'), threadId)
    return file === undefined ? undefined : lastTotal(await readEnd(file))
  } catch {
    return undefined
  }
}

/** `sessions/2026/01/31/rollout-<time>-<id>.jsonl` */
async function findRollout(sessions: string, threadId: string): Promise<string | undefined> {
  const names = await readdir(sessions, { recursive: true })
  const name = names.find(entry => entry.endsWith(`-${threadId}.jsonl`))
  return name && path.join(sessions, name)
}

/** Totals are written with every answer: the last one is near the end, unless a huge output follows it. */
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

function lastTotal(text: string): ThreadUsage | undefined {
  const lines = text.split('\n').reverse()
  for (const line of lines) {
    if (!line.includes('"token_count"')) continue
    const total = totalOf(line)
    if (total) return readUsage(total)
  }
  return undefined
}

function totalOf(line: string): unknown {
  try {
    const { payload } = JSON.parse(line) as { payload?: { type?: unknown; info?: Record<string, unknown> } }
    return payload?.type === 'token_count' ? payload.info?.total_token_usage : undefined
  } catch {
    return undefined
  }
}

/** Counted by the same rules as what `exec` prints. */
function readUsage(usage: unknown): ThreadUsage {
  const translator = createCodexExecTranslator({ sessionId: '' })
  translator.translate({ type: 'turn.completed', usage } as Parameters<typeof translator.translate>[0])
  return translator.usageTotal
}
