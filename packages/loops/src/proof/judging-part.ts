/**
 * Files that say both what the project is and how it is judged. A file like it, with the parts that judge as in the base
 * and the others as the agent left them. Null if the parts that judge are the same.
 */
export function withJudgingPart(
  file: string,
  base: string,
  now: string,
  scripts: ReadonlySet<string>,
): string | null {
  const name = file.slice(file.lastIndexOf('/') + 1)
  if (name === 'package.json') return packageJson(base, now, scripts)
  if (name === 'pyproject.toml' || name === 'Cargo.toml') return toml(base, now)
  return base === now ? null : base
}

/** The parts of a package.json that judge. */
export function judgingText(manifest: string): string {
  const kept = Object.entries(objectIn(manifest) ?? {}).filter(
    ([key]) => !OF_THE_PROJECT.has(key) && key !== 'scripts',
  )
  return JSON.stringify(Object.fromEntries(kept))
}

/** True if a package.json asks for other versions of packages that it asked for before. */
export function hasOtherVersions(base: string, now: string): boolean {
  const before = objectIn(base)
  const after = objectIn(now)
  return [...DEPENDENCIES].some(key =>
    Object.entries(recordOf(before?.[key])).some(
      ([name, version]) => recordOf(after?.[key])[name] !== version,
    ),
  )
}

export function isMixed(file: string): boolean {
  return /(^|\/)(package\.json|pyproject\.toml|Cargo\.toml)$/.test(file)
}

function packageJson(base: string, now: string, scripts: ReadonlySet<string>): string | null {
  const before = objectIn(base)
  const after = objectIn(now)
  if (before === undefined || after === undefined) return base === now ? null : base
  const judging = (value: Record<string, unknown>) =>
    Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !OF_THE_PROJECT.has(key))
        .map(([key, part]) => [key, key === 'scripts' ? pick(part, scripts) : part])
        .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    )
  if (same(judging(before), judging(after)) && same(replacedIn(before), replacedIn(after))) return null
  const own = Object.entries(after).filter(([key]) => OF_THE_PROJECT.has(key))
  const kept = Object.entries(before).filter(([key]) => !OF_THE_PROJECT.has(key))
  const dependencies = Object.entries(before).filter(([key]) => DEPENDENCIES.has(key))
  const merged: Record<string, unknown> = Object.fromEntries([...own, ...kept])
  // A runner that was replaced by something of the project judges nothing.
  for (const [key, value] of dependencies)
    for (const [name, from] of Object.entries(recordOf(value)))
      if (isReplaced(recordOf(after[key])[name]) && !isReplaced(from))
        merged[key] = { ...recordOf(merged[key]), [name]: from }
  return `${JSON.stringify(merged, null, 2)}\n`
}

/** The scripts that checks run, and those that an installation runs by itself. */
function pick(scripts: unknown, names: ReadonlySet<string>): unknown {
  return Object.fromEntries(
    Object.entries(recordOf(scripts)).filter(([name]) => names.has(name) || INSTALLS.test(name)),
  )
}

const INSTALLS = /^(?:(?:pre|post)?(?:install|prepare)|prepublish|dependencies)$/

function replacedIn(manifest: Record<string, unknown>): string[] {
  return [...DEPENDENCIES].flatMap(key =>
    Object.entries(recordOf(manifest[key])).flatMap(([name, from]) =>
      isReplaced(from) ? [`${name}=${from}`] : [],
    ),
  )
}

/** True for a dependency from a folder, another package or an address, and not by its version from the registry. */
function isReplaced(from: unknown): boolean {
  return typeof from === 'string' && /^(file|link|portal|npm|git|https?|github|\.{0,2}\/)/.test(from)
}

export function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

export function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** Section by section: what the project is comes from the agent, the rest from the base. */
function toml(base: string, now: string): string | null {
  const before = sections(base)
  const after = sections(now)
  const judging = (all: Section[]) => all.filter(({ header }) => !TOML_OF_THE_PROJECT.test(header))
  const text = (all: Section[]) => all.map(({ header, body }) => `${header}\n${body.trim()}`).join('\n')
  const keys = (all: Section[]) =>
    all.flatMap(one => judgingKeys(one).map(line => `${one.header} ${line.trim()}`))
  if (text(judging(before)) === text(judging(after)) && same(keys(before), keys(after))) return null
  const own = after
    .filter(({ header }) => TOML_OF_THE_PROJECT.test(header))
    .map(section => withKeysOf(section, before))
  return [...own, ...judging(before)]
    .map(({ header, body }) => (header === '' ? body : `${header}\n${body}`))
    .join('\n')
}

/** Keys in a section of the project that decide which tests there are, and whether they run. */
function judgingKeys({ header, body }: Section): string[] {
  return TOML_OF_THE_PROJECT.test(header) ? body.split('\n').filter(line => JUDGING_KEY.test(line)) : []
}

function withKeysOf(section: Section, before: readonly Section[]): Section {
  const kept = before.find(({ header }) => header === section.header)
  const lines = section.body.split('\n').filter(line => !JUDGING_KEY.test(line))
  return { ...section, body: [...(kept === undefined ? [] : judgingKeys(kept)), ...lines].join('\n') }
}

const JUDGING_KEY = /^\s*(autotests|autobenches|autoexamples|test|doctest|bench|harness|build)\s*=/

interface Section {
  header: string
  body: string
}

function sections(text: string): Section[] {
  const found: Section[] = []
  let header = ''
  let body: string[] = []
  for (const line of text.split('\n')) {
    if (!/^\s*\[/.test(line) || /^\s*\[.*,\s*$/.test(line)) {
      body.push(line)
      continue
    }
    found.push({ header, body: body.join('\n') })
    header = line.trim()
    body = []
  }
  return [...found, { header, body: body.join('\n') }]
}

const DEPENDENCIES = new Set(['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'])
const OF_THE_PROJECT = new Set([
  ...DEPENDENCIES,
  ...[
    'name',
    'version',
    'description',
    'keywords',
    'author',
    'contributors',
    'license',
    'repository',
    'bugs',
  ],
  ...['homepage', 'funding', 'private', 'main', 'module', 'browser', 'exports', 'imports', 'type', 'types'],
  ...[
    'typings',
    'typesVersions',
    'bin',
    'man',
    'files',
    'directories',
    'sideEffects',
    'publishConfig',
    'unpkg',
  ],
  ...[
    'peerDependenciesMeta',
    'bundledDependencies',
    'bundleDependencies',
    'os',
    'cpu',
    'icon',
    'maintainers',
  ],
])
const TOML_OF_THE_PROJECT =
  /^$|^\[(?:package|project|lib|features|workspace|dependency-groups|build-system|(?:[\w.'"()=-]+\.)?(?:dev-|build-)?dependencies)\b|^\[\[bin\]\]|^\[tool\.(?:poetry|pdm|hatch|flit)\b/
