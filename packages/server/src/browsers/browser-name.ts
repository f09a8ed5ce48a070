/** A browser as a person knows it, from its `User-Agent`: "Firefox on Linux". Never anything that it made up. */
export function browserName(userAgent: string | undefined): string {
  const program = PROGRAMS.find(([mark]) => userAgent?.includes(mark))?.[1] ?? 'A browser'
  const system = SYSTEMS.find(([mark]) => userAgent?.includes(mark))?.[1]
  return system === undefined ? program : `${program} on ${system}`
}

/** In this order: each of them also names those below it. */
const PROGRAMS: readonly (readonly [mark: string, name: string])[] = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
]

const SYSTEMS: readonly (readonly [mark: string, name: string])[] = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
]
