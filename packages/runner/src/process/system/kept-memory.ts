import { readFile } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { runPs } from './process-table.ts'

/** How much memory idle agents may use: a number of bytes, or a share of the memory that would be free without them. */
export type MemoryLimit = { bytes: number } | { share: number }

/**
 * An agent's memory is measured, because it differs by a factor of ten, depending on its conversation and its MCP
 * servers.
 */
export const DEFAULT_KEPT_MEMORY: MemoryLimit = { share: 0.25 }

/** `2G`, `500M`, `25%`, or `0` for none. Undefined for any other text. */
export function parseMemoryLimit(text: string): MemoryLimit | undefined {
  const [, digits = '', unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*(%|[kmg]i?b?|)\s*$/i.exec(text) ?? []
  if (digits === '') return undefined
  const amount = Number(digits)
  if (unit === '%') return amount <= 100 ? { share: amount / 100 } : undefined
  const factor = UNITS[unit.charAt(0).toLowerCase()]
  // A number without a unit is ambiguous between megabytes and bytes, so it is refused.
  if (factor === undefined) return amount === 0 ? { bytes: 0 } : undefined
  return { bytes: Math.round(amount * factor) }
}

const UNITS: Readonly<Record<string, number>> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 }

export interface IdleAgent {
  pid: number
  lastUsedAt: number
}

/**
 * The agents to end, the least recently used first. The agent that was used last stays unless the limit is 0, because
 * its session is the most likely to get the next turn.
 */
export async function surplusAgents<T extends IdleAgent>(
  idle: readonly T[],
  limit: MemoryLimit = DEFAULT_KEPT_MEMORY,
): Promise<T[]> {
  const measured = await Promise.all(
    idle.map(async agent => ({ agent, ...agent, bytes: await memoryOf(agent.pid) })),
  )
  const used = measured.reduce((sum, { bytes }) => sum + bytes, 0)
  return chooseSurplus(measured, allowedBytes(limit, used)).map(({ agent }) => agent)
}

export function chooseSurplus<T extends { lastUsedAt: number; bytes: number }>(
  idle: readonly T[],
  allowed: number,
): T[] {
  let left = allowed
  const newestFirst = [...idle].sort((a, b) => b.lastUsedAt - a.lastUsedAt)
  return newestFirst
    .filter(({ bytes }, index) => {
      left -= bytes
      return index === 0 ? allowed <= 0 : left < 0
    })
    .reverse()
}

function allowedBytes(limit: MemoryLimit, used: number): number {
  if ('bytes' in limit) return limit.bytes
  // macOS does not count caches as free, although it would release them at once.
  const free = process.platform === 'linux' ? process.availableMemory() + used : totalmem() / 2
  return free * limit.share
}

/**
 * The memory that ending the process and its children would free. Shared pages count in part, if the system reports
 * them.
 */
async function memoryOf(pid: number): Promise<number> {
  try {
    if (process.platform === 'linux') return await memoryFromProc(pid)
    return Number((await runPs(['-o', 'rss=', '-p', String(pid)])).trim()) * UNIT
  } catch {
    // The process has exited meanwhile.
    return 0
  }
}

async function memoryFromProc(pid: number, depth = 0): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1')
  const own = Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0) * UNIT
  if (depth >= MAX_DEPTH) return own
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'latin1').catch(() => '')
  const pids = children.split(' ').filter(Boolean).map(Number)
  const theirs = await Promise.all(pids.map(child => memoryFromProc(child, depth + 1).catch(() => 0)))
  return theirs.reduce((sum, bytes) => sum + bytes, own)
}

/** `/proc` and `ps` count in kibibytes. */
const UNIT = 1024
const MAX_DEPTH = 4
