import path from 'node:path'
import { isMixed } from './judging-part.ts'

/** Files whose name says that they decide what a check does, or are tests, wherever they lie. */
export function judgesByName(file: string): boolean {
  return MEANS.test(file) || isMixed(file) || isTestFile(file) || SHADOWS.test(file)
}

/** Files that runners, loaders and package managers look for in the folders above a project as well. */
export function isFoundAbove(file: string): boolean {
  return isMixed(file) || SHADOWS.test(file) || (MEANS.test(file) && !NAMED_ONLY.test(file))
}

export function isTestFile(file: string): boolean {
  return TEST.test(file) || TEST_CLASS.test(file)
}

/** Code that is the work itself: tests import it, and checks start it. */
export function isOwnCode(file: string): boolean {
  return CODE.test(file) && !isTestFile(file) && !MEANS.test(file) && SOURCE_FOLDER.test(file)
}

/** Code that a check starts as the work itself, and not a program that is there to check. */
export function isOwnProgram(file: string): boolean {
  return (
    isOwnCode(file) &&
    !/(^|[-_./])(checks?|verify|validate|lint|self-?test|smoke|tests?|ci)([-_.]|$)/i.test(
      path.posix.basename(file),
    )
  )
}

/** True for a changed file whose name and place say that it is work, and neither data nor something that judges. */
export function isKnownWork(
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

/** Configuration beside the manifest of the project: it says what runners load. */
export function configsIn(inBase: readonly string[], prefix: string): string[] {
  const isBeside = (file: string) => path.posix.join(prefix, path.posix.basename(file)) === file
  return inBase.filter(file => isBeside(file) && (isMixed(file) || MEANS.test(file))).slice(0, MAX_CONFIGS)
}

/** Matches a file against a pattern with `*`, `**` and `?`, from the top or from any folder. */
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
/** Names that runners and build tools give to files which decide what tests run, and how. */
export const MEANS = new RegExp(
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
/** Files of `MEANS` that only a command finds, by their path. */
const NAMED_ONLY =
  /\.(sh|bash|zsh|fish|ps1|bat|cmd|mk)$|(^|\/)((GNU)?[Mm]akefile|Dockerfile[^/]*|docker-compose[^/]*|requirements[^/]*\.txt|justfile|Rakefile|binding\.gyp)$|\.(conf|setup|preset|loader|hooks?)\.[^./]+$/
/** Read before the first file of the check is, or by something that leaves no trace of it. */
export const ALWAYS_READ =
  /(^|\/)\.(npmrc|gitattributes|yarnrc(\.yml)?|env(\.[^/]*)?|pnpmfile\.cjs)$|^\.cargo\/|(^|\/)binding\.gyp$|(^|\/)patches\/[^/]+\.patch$|^\.yarn\/patches\//
/** A module of the project that takes the place of one that every test imports. */
const SHADOWS =
  /(^|\/)(pytest|_pytest|unittest|sitecustomize|usercustomize|doctest|pluggy|conftest|nose)(\/__init__)?\.(py|pth)$|\.pth$|(^|\/)node_modules\//
/** Code that nobody can read in a change. */
const COMPILED = /\.(node|so|dylib|dll|pyd|pyc|class|jar|wasm|o|a|exe)$/i
const SOURCE_FOLDER =
  /(^|\/)(src|source|sources|lib|libs|app|apps|pkg|cmd|internal|bin|core|server|client|components|pages|api|public|assets|styles|locales?|i18n|migrations|docs?)\//
export const CODE =
  /\.([cm]?[jt]sx?|py|pyi|go|rs|java|kt|kts|scala|swift|rb|php|cs|fs|c|cc|cpp|cxx|h|hh|hpp|m|mm|ex|exs|erl|clj|hs|ml|lua|dart|vue|svelte|astro|zig|nim|jl|r|css|scss|less|html|sql|graphql|proto)$/i
const TEXT = /\.(md|mdx|markdown|txt|rst|adoc)$|(^|\/)(LICEN[CS]E|CHANGELOG|README|AUTHORS|NOTICE)[^/]*$/i
