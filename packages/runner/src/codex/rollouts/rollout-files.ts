import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'

export interface RolloutFile {
  threadId: string
  path: string
  modifiedMs: number
  sizeBytes: number
}

export function codexHome(environment: Record<string, string>): string {
  return environment.CODEX_HOME || path.join(environment.HOME ?? '', '.codex')
}

/** Newest first. `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`; what was put away lies in a folder of its own. */
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
