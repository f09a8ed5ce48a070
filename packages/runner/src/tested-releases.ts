import { compareVersions } from '@chirality/core'
import { MATRIX_RELEASES } from './tested-releases.generated.ts'

const known = new Map<string, string[]>()

/** The releases that passed every scripted conversation, oldest first. The list grows with `countAsTested`. */
export function testedReleases(harness: string, pinned: readonly string[]): readonly string[] {
  const list = listOf(harness)
  for (const version of [...pinned, ...(MATRIX_RELEASES[harness] ?? [])]) add(list, version)
  return list
}

/** A release that passed them on this machine is tested for every harness of this process. */
export function countAsTested(harness: string, version: string): void {
  add(listOf(harness), version)
}

function listOf(harness: string): string[] {
  const list = known.get(harness) ?? []
  known.set(harness, list)
  return list
}

function add(list: string[], version: string): void {
  if (!list.includes(version)) list.push(version)
  list.sort(compareVersions)
}
