import path from 'node:path'
import { wordsOf } from './check-words.ts'
import { isMixed, withJudgingPart } from './judging-part.ts'
import { ledFiles, stemOf } from './led-files.ts'
import { assertsForTests, isReadByTests, type TestTexts } from './tested-by.ts'

export interface ChangedFile {
  /** `A`, `M` or `D`; `T` if it is of another kind now. */
  status: string
  /** From the top of the repository. */
  path: string
}

export interface MatterFacts {
  files: readonly ChangedFile[]
  /** What sets a worktree up, and what checks it. */
  commands: readonly string[]
  /** Of the project below the top of the repository, with `/`. */
  prefix: string
  /** The changed files that the checks read. Null if that could not be seen. */
  read: readonly string[] | null
  /** The changed files of which a read would not be seen. */
  notWatched?: ReadonlySet<string>
  /** Test files by the runner's own list, before and after, from the folder of the check. */
  listed: readonly string[]
  /** Undefined if there is no such file there. */
  show(at: 'base' | 'now', file: string): Promise<string | undefined>
  /** All files before, from the top of the repository. */
  inBase: readonly string[]
  /** The tests as they were before, by file: those of the runner's own list, and those that are by their name. */
  testTexts?(listed: ReadonlySet<string>): Promise<TestTexts>
}

/** Files of the project that say what runners load, as they were before. */
export function configsIn(inBase: readonly string[], prefix: string): string[] {
  const isBeside = (file: string) => path.posix.join(prefix, path.posix.basename(file)) === file
  return inBase.filter(file => isBeside(file) && (isMixed(file) || MEANS.test(file))).slice(0, MAX_CONFIGS)
}

/** The changed files that judge, by what they are. */
export interface Matter {
  /** Tests, their helpers, fixtures and snapshots. */
  tests: string[]
  /** Configuration, scripts and whatever else decides what checks run, and how. */
  means: string[]
  /** Checks read them, and no rule says what they are. */
  unknown: string[]
  /** Of `means`: with the parts that judge as in the base. */
  composed: Map<string, string>
}

/** Which of the changed files say what is right, rather than being what is asked for. */
export async function findMatter(facts: MatterFacts): Promise<Matter> {
  const matter: Matter = { tests: [], means: [], unknown: [], composed: new Map() }
  const words = await checkWords(facts)
  const codeFolders = new Set(facts.inBase.map(file => path.posix.dirname(file)))
  const led = await ledFiles(facts, words.named)
  for (const word of words.loaded) led.add(stemOf(path.posix.join(facts.prefix, word)))
  const listed = new Set(facts.listed.map(file => path.posix.join(facts.prefix, file)))
  const tests = once(() => facts.testTexts?.(listed) ?? Promise.resolve<TestTexts>(new Map()))
  for (const { path: file, status } of facts.files) {
    // One that is gone cannot have been read, and would have been.
    const isRead = facts.read === null || status === 'D' || facts.read.includes(file)
    if (isTestFile(file) || (listed.has(file) && !(await isCodeWithTests(facts, file))))
      matter.tests.push(file)
    else if (isMixed(file)) await addMixed(facts, matter, { file, scripts: words.scripts })
    else if (LOCK.test(file)) continue
    else if (MEANS.test(file) && (isRead || ALWAYS_READ.test(file) || facts.notWatched?.has(file)))
      matter.means.push(file)
    else if (led.has(stemOf(file))) matter.means.push(file)
    else if (isNamed(path.posix.relative(facts.prefix, file), words.named) && !isOwnProgram(file))
      matter.means.push(file)
    else if (status !== 'A' && CODE.test(file) && assertsForTests(file, await tests()))
      matter.tests.push(file)
    else if (status !== 'A' && isRead && !CODE.test(file) && isReadByTests(file, await tests()))
      matter.unknown.push(file)
    else if (
      isRead &&
      words.runs &&
      !isLookedAt(facts, file, words.looked) &&
      !isKnownWork({ codeFolders, read: facts.read }, file, status)
    )
      matter.unknown.push(file)
  }
  return matter
}

/**
 * A runner may list a file of code, as Rust, vitest and doctest have tests in it. Put back as in the base, what the task asked
 * for would be gone, and the old code would pass for the new. Its lost assertions are found by its lines.
 */
async function isCodeWithTests({ show }: MatterFacts, file: string): Promise<boolean> {
  const text = (await show('base', file)) ?? (await show('now', file)) ?? ''
  return isOwnCode(file) || CODE_WITH_TESTS.test(text)
}

const CODE_WITH_TESTS =
  /^\s*export\b|\bmodule\.exports\b|\bimport\.meta\.vitest\b|#\[cfg\(test\)\]|^pub (fn|struct|enum|trait|mod)\b|^\s*(>>>|\/\/\/) /m

async function checkWords(facts: MatterFacts) {
  const scripts: Record<string, string> = {}
  const manifests = new Set(['package.json', ...facts.files.map(file => file.path).filter(isManifest)])
  for (const manifest of manifests)
    for (const at of ['base', 'now'] as const) {
      const text = await facts.show(
        at,
        manifest === 'package.json' ? path.posix.join(facts.prefix, manifest) : manifest,
      )
      // Both count: the one that ran, and the one that it replaced.
      for (const [name, script] of scriptsIn(text)) scripts[name] = `${scripts[name] ?? ''}\n${script}`
    }
  const { scripts: run, ...words } = wordsOf(facts.commands, scripts)
  const isElsewhere = facts.commands.some(check =>
    /\bcd\b|--prefix|--filter|--workspace|\s-w\s|\s-C\s|turbo|lerna|nx\b/.test(check),
  )
  return { ...words, scripts: new Set(isElsewhere ? Object.keys(scripts) : run) }
}

async function addMixed(
  { show }: MatterFacts,
  matter: Matter,
  { file, scripts }: { file: string; scripts: ReadonlySet<string> },
): Promise<void> {
  const base = await show('base', file)
  const now = await show('now', file)
  if (base === undefined || now === undefined) {
    matter.means.push(file)
    return
  }
  const put = withJudgingPart(file, base, now, scripts)
  if (put === null) return
  matter.means.push(file)
  matter.composed.set(file, put)
}

function scriptsIn(text: string | undefined): [string, string][] {
  try {
    const { scripts } = JSON.parse(text ?? '{}') as { scripts?: Record<string, unknown> }
    return Object.entries(scripts ?? {}).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    )
  } catch {
    return []
  }
}

/** The command names the file, its folder or a pattern that it fits. */
function isNamed(file: string, named: readonly string[]): boolean {
  return named.some(word => {
    if (!/[./*]/.test(word) || word === '.' || word === '..') return false
    if (word.includes('*')) return fits(file, word)
    return file === word || file.endsWith(`/${word}`)
  })
}

/** A check says something of it, or of a folder that it is in. */
function isLookedAt({ prefix }: MatterFacts, file: string, looked: readonly string[]): boolean {
  const inProject = path.posix.relative(prefix, file)
  return isNamed(inProject, looked) || looked.some(word => inProject.startsWith(`${word}/`))
}

/** Whether a file fits a pattern with `*`, `**` and `?`, from the top or from any folder. */
export function fits(file: string, pattern: string): boolean {
  const source = pattern
    .split(/(\*\*\/?|\*|\?)/)
    .map(part =>
      part.startsWith('**')
        ? '.*'
        : part === '*'
          ? '[^/]*'
          : part === '?'
            ? '[^/]'
            : part.replace(/[.+^${}()|[\]\\]/g, '\\$&'),
    )
    .join('')
  return new RegExp(`(^|/)${source}$`).test(file)
}

/** A file of this name decides what a check does, or is a test, wherever it lies. */
export function judgesByName(file: string): boolean {
  return MEANS.test(file) || isMixed(file) || isTestFile(file) || SHADOWS.test(file)
}

export function isTestFile(file: string): boolean {
  return TEST.test(file) || TEST_CLASS.test(file)
}

/** Code that is the work itself: what tests import and checks start. */
export function isOwnCode(file: string): boolean {
  return CODE.test(file) && !isTestFile(file) && !MEANS.test(file) && SOURCE_FOLDER.test(file)
}

/** Code that a check starts as the work itself, and not a program that is there to check. */
function isOwnProgram(file: string): boolean {
  return (
    isOwnCode(file) &&
    !/(^|[-_./])(checks?|verify|validate|lint|self-?test|smoke|tests?|ci)([-_.]|$)/i.test(
      path.posix.basename(file),
    )
  )
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}

function isKnownWork(
  { codeFolders, read }: { codeFolders: ReadonlySet<string>; read: readonly string[] | null },
  file: string,
  status: string,
): boolean {
  if (SHADOWS.test(file) || COMPILED.test(file)) return false
  const isInSource = SOURCE_FOLDER.test(file)
  if (CODE.test(file)) return isInSource || status !== 'A' || codeFolders.has(path.posix.dirname(file))
  // Where reads cannot be seen, pages for people would all be named.
  return isInSource || (read === null && TEXT.test(file))
}

function isManifest(file: string): boolean {
  return path.posix.basename(file) === 'package.json'
}

const MAX_CONFIGS = 30
export const LOCK =
  /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lockb?|Cargo\.lock|poetry\.lock|uv\.lock|Pipfile\.lock|Gemfile\.lock|composer\.lock|go\.sum)$/
export const CI =
  /^\.github\/|^\.gitlab-ci\.yml$|^\.circleci\/|^\.buildkite\/|(^|\/)(Jenkinsfile|azure-pipelines\.ya?ml|\.travis\.yml|bitbucket-pipelines\.yml)$/
const TEST = new RegExp(
  [
    `(^|/)(tests?|__tests__|specs?|e2e|cypress|testing|__snapshots__|snapshots?|__fixtures__|fixtures?|test-?data|__mocks__|mocks?|test[-_]?(helpers?|utils?|support|lib)|features)/`,
    String.raw`[._-](test|spec)s?(-d)?\.[a-z]+$|(^|/)(tests?|specs?)\.[cm]?[jt]sx?$|\.(snap|golden|feature|shot|approved\.[a-z]+)$`,
    String.raw`(^|/)(test_[^/]+|conftest)\.py$|(^|/)(test|jest|vitest|mocha)[-.]?(setup|helpers?|utils?)\.[a-z]+$|(^|/)setup-?tests?\.[a-z]+$`,
  ].join('|'),
  'i',
)
const TEST_CLASS = /Tests?\.(java|kt|cs|swift|scala|php)$|Spec\.(kt|scala|groovy)$/
/** What decides which tests run, and how: found by the names that runners and build tools give it. */
const MEANS = new RegExp(
  [
    String.raw`(^|/)[^/]*\.(config|conf|workspace|setup|preset|loader|hooks?)\.([cm]?[jt]sx?|json|toml|ya?ml)$`,
    String.raw`(^|/)\.[a-z0-9-]+rc(\.[a-z]+)?$|(^|/)\.(npmrc|gitattributes|env(\.[^/]*)?|pnpmfile\.cjs|node-version|nvmrc|tool-versions|swcrc|taprc|dockerignore)$`,
    String.raw`(^|/)([tj]sconfig[^/]*\.json|biome\.jsonc?|(turbo|nx|lerna|jest|karma|deno)\.jsonc?|pnpm-workspace\.yaml|bunfig\.toml|mocha\.opts)$`,
    String.raw`(^|/)(pytest\.ini|tox\.ini|setup\.(cfg|py)|noxfile\.py|\.coveragerc|requirements[^/]*\.txt|Pipfile)$`,
    String.raw`(^|/)(GNU)?[Mm]akefile$|\.mk$|(^|/)(justfile|Taskfile\.ya?ml|Rakefile|Gruntfile\.[cm]?js|gulpfile\.[cm]?[jt]s|build\.rs|go\.work|CMakeLists\.txt)$`,
    String.raw`(^|/)(pom\.xml|build\.gradle(\.kts)?|settings\.gradle(\.kts)?|gradle\.properties|Dockerfile[^/]*|docker-compose[^/]*\.ya?ml)$|(^|/)\.(cargo|mvn|husky|yarn)/`,
    String.raw`(^|/)binding\.gyp$|(^|/)patches/[^/]+\.patch$`,
    String.raw`(^|/)(scripts?|tools?|ci|build-tools|hack)/|\.(sh|bash|zsh|fish|ps1|bat|cmd)$`,
  ].join('|'),
)
/** Read before the first file of the check is, or by something that leaves no trace of it. */
const ALWAYS_READ =
  /(^|\/)\.(npmrc|gitattributes|yarnrc(\.yml)?|env(\.[^/]*)?|pnpmfile\.cjs)$|^\.cargo\/|(^|\/)binding\.gyp$|(^|\/)patches\/[^/]+\.patch$|^\.yarn\/patches\//
/** A module of the project that takes the place of one that every test imports. */
const SHADOWS =
  /(^|\/)(pytest|_pytest|unittest|sitecustomize|usercustomize|doctest|pluggy|conftest|nose)(\/__init__)?\.(py|pth)$|\.pth$|(^|\/)node_modules\//
/** Code that nobody can read in a change. */
const COMPILED = /\.(node|so|dylib|dll|pyd|pyc|class|jar|wasm|o|a|exe)$/i
const SOURCE_FOLDER =
  /(^|\/)(src|source|sources|lib|libs|app|apps|pkg|cmd|internal|bin|core|server|client|components|pages|api|public|assets|styles|locales?|i18n|migrations|docs?)\//
const CODE =
  /\.([cm]?[jt]sx?|py|pyi|go|rs|java|kt|kts|scala|swift|rb|php|cs|fs|c|cc|cpp|cxx|h|hh|hpp|m|mm|ex|exs|erl|clj|hs|ml|lua|dart|vue|svelte|astro|zig|nim|jl|r|css|scss|less|html|sql|graphql|proto)$/i
const TEXT = /\.(md|mdx|markdown|txt|rst|adoc)$|(^|\/)(LICEN[CS]E|CHANGELOG|README|AUTHORS|NOTICE)[^/]*$/i
