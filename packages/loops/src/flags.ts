import type { Flag, FlagKind } from './journal.ts'
import type { Task } from './task-list.ts'
import type { TaskTree } from './task-tree.ts'

/** What is suspicious in the difference of two commits. */
export async function findFlags(tree: TaskTree, base: string, commit: string, task: Task): Promise<Flag[]> {
  if (base === commit) return []
  const files = await tree.changedFiles(base, commit)
  const paths = files.map(({ path }) => path)
  const { deletions, insertions } = await tree.diffStat(base, commit)
  const tests = files.filter(({ path }) => TEST.test(path))
  const deleted = tests.filter(({ status }) => status === 'D').map(({ path }) => path)
  const edited = tests.filter(({ status }) => status !== 'D').map(({ path }) => path)
  const lines = await tree.changedLines(base, commit, edited)
  const touched = (pattern: RegExp) => paths.filter(path => pattern.test(path))
  return [
    flag('tests-deleted', deleted, `Deleted ${count(deleted, 'test file')}.`),
    ...flagsOfTests(edited, lines),
    flag(
      'checks-changed',
      await changedChecks({ tree, base, commit, task, paths }),
      'Changed what its own checks run.',
    ),
    flag('ci-changed', touched(CI), 'Changed how the project is built and tested elsewhere.'),
    flag('lock-changed', touched(LOCK), 'Changed the versions of dependencies.'),
    flag('secret-path', touched(SECRET), 'Touched files that often hold secrets.'),
    deletions >= LARGE_DELETION && deletions > insertions
      ? flag('large-deletion', ['*'], `Deleted ${deletions} lines and added ${insertions}.`)
      : [],
  ].flat()
}

function flag(kind: FlagKind, files: string[], words: string): Flag[] {
  return files.length === 0
    ? []
    : [{ kind, words, files: files.filter(file => file !== '*').slice(0, MAX_FILES) }]
}

function flagsOfTests(files: string[], lines: string[] | null): Flag[] {
  if (lines === null) return flag('tests-weakened', files, 'Changed tests by more than can be compared.')
  const added = lines.filter(line => line.startsWith('+') && !line.startsWith('+++'))
  const removed = lines.filter(line => line.startsWith('-') && !line.startsWith('---'))
  const number = (from: string[], pattern: RegExp) => from.filter(line => pattern.test(line)).length
  const skipped = number(added, SKIP) - number(removed, SKIP)
  const fewerTests = number(removed, CASE) - number(added, CASE)
  const fewerChecks = number(removed, ASSERT) - number(added, ASSERT)
  return [
    ...(skipped > 0 ? flag('tests-skipped', files, `Skips ${skipped} tests more than before.`) : []),
    ...(fewerTests > 0 ? flag('tests-deleted', files, `Has ${fewerTests} tests fewer than before.`) : []),
    ...(fewerTests <= 0 && fewerChecks > 0
      ? flag('tests-weakened', files, `Has ${fewerChecks} assertions fewer than before.`)
      : []),
  ]
}

/** Files that the commands of the checks name, and the scripts of a package.json that they run. */
async function changedChecks(from: {
  tree: TaskTree
  base: string
  commit: string
  task: Task
  paths: string[]
}): Promise<string[]> {
  const { tree, base, commit, task, paths } = from
  const words = new Set(
    task.checks.flatMap(check => check.split(/[\s'"=;&|()<>]+/)).map(word => word.replace(/^\.\//, '')),
  )
  const named = paths.filter(path => words.has(path) || CHECK_CONFIG.test(path))
  const runsScripts = task.checks.some(check => /\b(npm|pnpm|yarn|bun)\b/.test(check))
  if (!runsScripts || !paths.includes('package.json')) return named
  const scripts = async (at: string) => {
    try {
      const { scripts: found } = JSON.parse(await tree.show(at, 'package.json')) as { scripts?: unknown }
      return JSON.stringify(found)
    } catch {
      return ''
    }
  }
  return (await scripts(base)) === (await scripts(commit)) ? named : [...named, 'package.json']
}

function count(files: string[], word: string): string {
  return files.length === 1 ? `a ${word}` : `${files.length} ${word}s`
}

const TEST =
  /(^|\/)(tests?|__tests__|spec|specs|e2e)\/|[._-](test|spec)s?\.[a-z]+$|(^|\/)test_[^/]+\.py$|Test\.(java|kt|cs)$/i
const CASE = /^[-+]\s*(?:(?:it|test)(?:\.\w+)*\s*\(|def test_|func Test|#\[test\]|@Test\b)/
const ASSERT = /\b(expect|assert\w*|should)\b/i
const SKIP =
  /\b(it|test|describe|suite)\.(skip|todo|only)\b|\bx(it|describe)\s*\(|@(pytest\.mark\.)?(skip|xfail)|@unittest\.skip|\bt\.Skip\w*\(|#\[ignore\]|@(Disabled|Ignore)\b/
const CI =
  /^\.github\/|^\.gitlab-ci\.yml$|^\.circleci\/|^\.buildkite\/|(^|\/)(Jenkinsfile|azure-pipelines\.ya?ml|\.travis\.yml|bitbucket-pipelines\.yml)$/
const LOCK =
  /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lockb?|Cargo\.lock|poetry\.lock|uv\.lock|Pipfile\.lock|Gemfile\.lock|composer\.lock|go\.sum)$/
const SECRET =
  /(^|\/)(\.env(\.[^/]*)?|\.npmrc|\.netrc|\.pypirc|id_(rsa|dsa|ecdsa|ed25519)|credentials(\.[a-z]+)?|secrets?(\.[a-z]+)?)$|\.(pem|p12|pfx|key|keystore|jks)$/i
const CHECK_CONFIG =
  /(^|\/)((vitest|jest|playwright|eslint|mocha)\.config\.[a-z]+|biome\.jsonc?|\.eslintrc(\.[a-z]+)?|tsconfig[^/]*\.json|pytest\.ini|tox\.ini|Makefile)$/
const LARGE_DELETION = 300
const MAX_FILES = 20
