import { lstat, rm } from 'node:fs/promises'
import path from 'node:path'
import { fileOnDisk } from './edited-tree.ts'
import type { GitRepository } from './git.ts'
import { readStateFile, writeStateFile } from './state-file.ts'

// A tree says of a file only whether it can be executed. A file that only its user may read would come back readable for
// everybody, so unusual permissions are kept beside the tree of a snapshot. They are those of files that differ from the
// last commit; git gives the others the usual ones whenever it writes them.

/** Notes the unusual permissions of these files for a tree. */
export async function notePermissions(
  repository: GitRepository,
  { stateFolder, tree, names }: { stateFolder: string; tree: string; names: readonly string[] },
): Promise<void> {
  const noted: Record<string, number> = {}
  for (let at = 0; at < names.length; at += BATCH) {
    const batch = names.slice(at, at + BATCH)
    const found = await Promise.all(
      batch.map(name => lstat(fileOnDisk(repository, name)).catch(() => undefined)),
    )
    for (const [index, facts] of found.entries()) {
      const permissions = (facts?.mode ?? 0) & 0o777
      if (facts?.isFile() && areUnusual(permissions)) noted[batch[index] ?? ''] = permissions
    }
  }
  if (Object.keys(noted).length > 0) await writeStateFile(fileOf(stateFolder, tree), JSON.stringify(noted))
  // The same files had others the last time.
  else await rm(fileOf(stateFolder, tree), { force: true })
}

/** By name; empty for a tree of which nothing is noted. */
export async function notedPermissions(stateFolder: string, tree: string): Promise<Map<string, number>> {
  try {
    const text = (await readStateFile(fileOf(stateFolder, tree))).toString('utf8')
    const entries: [string, unknown][] = Object.entries(JSON.parse(text))
    return new Map(entries.flatMap(([name, bits]) => (isBits(bits) ? [[name, bits] as const] : [])))
  } catch {
    return new Map()
  }
}

/** Not those that a check-out gives, with one of the usual masks. */
export function areUnusual(permissions: number): boolean {
  return !USUAL.has(permissions)
}

export function isBits(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0o777
}

const USUAL = new Set([0o644, 0o755, 0o664, 0o775])
const BATCH = 100

function fileOf(stateFolder: string, tree: string): string {
  return path.join(stateFolder, 'permissions', tree)
}
