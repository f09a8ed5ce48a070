import { lstat, rm } from 'node:fs/promises'
import path from 'node:path'
import { fileOnDisk } from './edited-tree.ts'
import type { GitRepository } from './git.ts'
import { readStateFile, writeStateFile } from './state-file.ts'

// A tree stores only whether a file is executable. A file that only its user may read would come back readable for
// everybody, so unusual permissions are stored beside the tree of a snapshot. Only files that differ from the last
// commit are covered; git writes all others with usual permissions.

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
  // The same files had unusual permissions the last time.
  else await rm(fileOf(stateFolder, tree), { force: true })
}

/** Noted permissions by name; empty if the tree has none. */
export async function notedPermissions(stateFolder: string, tree: string): Promise<Map<string, number>> {
  try {
    const text = (await readStateFile(fileOf(stateFolder, tree))).toString('utf8')
    const entries: [string, unknown][] = Object.entries(JSON.parse(text))
    return new Map(entries.flatMap(([name, bits]) => (isBits(bits) ? [[name, bits] as const] : [])))
  } catch {
    return new Map()
  }
}

/** False for permissions that a check-out with one of the usual masks gives. */
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
