/** The releases of an agent that a harness knows. */
export interface HarnessVersions {
  /** Releases that the tests run, or that passed a trial, oldest first. */
  tested: readonly string[]
  /** The first release that works. An older one is refused before its first turn. */
  oldest: string
  /** The feature that older releases lack, as words that follow "lacks". */
  lacking?: string
  /** How to update: a sentence with the command in it. */
  update?: string
}

/**
 * `tested`: the tests or a trial ran this release. `untested`: between the oldest and the newest tested one. `newer`: newer than
 * every tested one. `too-old`: refused.
 */
export type VersionSupport = 'tested' | 'untested' | 'newer' | 'too-old'

/** The support of a release. Undefined if it is no version, or the harness names none. */
export function versionSupport(
  version: string | undefined,
  versions: HarnessVersions | undefined,
): VersionSupport | undefined {
  if (version === undefined || versions === undefined || !parsed(version)) return undefined
  if (versions.tested.some(tested => compareVersions(tested, version) === 0)) return 'tested'
  if (compareVersions(version, versions.oldest) < 0) return 'too-old'
  return versions.tested.every(tested => compareVersions(version, tested) > 0) ? 'newer' : 'untested'
}

/** Below 0 if `a` is older than `b`. A prerelease is older than its release; a text that is no version comes first. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parsed(a), parsed(b)]
  if (!left || !right) return Number(left !== undefined) - Number(right !== undefined)
  for (const [i, part] of left.release.entries()) {
    const difference = part - (right.release[i] ?? 0)
    if (difference !== 0) return difference
  }
  return comparePrereleases(left.prerelease, right.prerelease)
}

/** The text beside the version. Undefined for a tested release. */
export function versionNote(
  support: VersionSupport | undefined,
  versions: HarnessVersions,
): string | undefined {
  switch (support) {
    case 'too-old':
      return tooOld(versions)
    case 'untested':
      return `not among the tested versions (${named(versions.tested)})`
    case 'newer':
      return `newer than the tested versions (${named(versions.tested)})`
    default:
      return undefined
  }
}

/** All of a few, and of many the first and the last. */
function named(tested: readonly string[]): string {
  const [first, last] = [tested[0], tested.at(-1)]
  return tested.length <= 3 ? tested.join(', ') : `${tested.length} from ${first} to ${last}`
}

function tooOld({ oldest, lacking }: HarnessVersions): string {
  return lacking
    ? `too old: it lacks ${lacking}, which came with ${oldest}`
    : `too old: ${oldest} or later is needed`
}

function parsed(version: string): { release: number[]; prerelease: string[] } | undefined {
  const [, major, minor = '0', patch = '0', prerelease = ''] = VERSION.exec(version) ?? []
  if (major === undefined) return undefined
  return {
    release: [major, minor, patch].map(Number),
    prerelease: prerelease === '' ? [] : prerelease.split('.'),
  }
}

const VERSION = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+\S*)?$/

function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return b.length - a.length
  for (const [i, left] of a.entries()) {
    const right = b[i]
    if (right === undefined) return 1
    if (left === right) continue
    const [n, m] = [Number(left), Number(right)]
    if (Number.isInteger(n) && Number.isInteger(m)) return n - m
    return left < right ? -1 : 1
  }
  return a.length - b.length
}
