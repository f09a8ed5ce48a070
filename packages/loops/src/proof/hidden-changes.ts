import {
  accessSync,
  constants,
  lstatSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  type Stats,
} from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { processEnv } from '@chirality/runner'
import type { TaskTree } from '../task-tree.ts'
import type { BranchTimes } from './branch-times.ts'
import { isFoundAbove, isTestFile, judgesByName } from './file-kinds.ts'
import { flag } from './flags.ts'
import type { ChangedFile } from './matter.ts'
import type { Flag } from './verdict.ts'

export interface Places {
  /** The worktree of the task. */
  tree: TaskTree
  /** The worktree of the loop's branch, where merges are checked. */
  branch: TaskTree
  checks: readonly string[]
  /** The folders that checks run in. */
  checkedIn: readonly string[]
  /** Begin of the task, in milliseconds. */
  since: number
  branchTimes: BranchTimes
}

/**
 * Names changes that were made while a task was worked on, that checks read and that are in no commit: neither the difference
 * nor the tests of the base show them.
 */
export async function flagsOfHiddenChanges({ tree, branch, ...places }: Places): Promise<Flag[]> {
  const { since, checkedIn } = places
  const { running, ended, setUp } = places.branchTimes
  const marked = await branch.showHidden()
  const own = await changedInLinked(tree, since)
  const notInGit = await branch.notInGit()
  // What appeared there while nothing ran is no output of a check: code may read it as it reads what is committed.
  const planted =
    running > 0 || ended === undefined
      ? []
      : await changedIn(branch.top, Math.max(since, ended), notInGit.filter(isNoDependency))
  const inBranch = [
    ...(await changedInDependencies(branch.folder, Math.max(since, setUp))),
    ...changedAmong(branch.top, since, notInGit, judgesByName),
    ...planted,
  ]
  const ofGit = (await tree.sourcesOfGit()).filter(file => isChanged(statOf(file), since))
  const around = [
    ...changedAbove(checkedIn, since),
    ...(await changedPrograms(places.checks, since, tree.top)),
  ]
  return [
    ...flag('hidden-change', marked, "Files in the worktree of the loop's branch were hidden from git."),
    ...flag('hidden-change', own, 'Changed files of a folder that it shares with others.'),
    ...flag(
      'hidden-change',
      inBranch,
      "Files that git does not show were changed in the worktree of the loop's branch.",
    ),
    ...flag('hidden-change', ofGit, 'Git was made to show another history, or other texts, than it has.'),
    ...flag(
      'hidden-change',
      around.slice(0, MAX_FILES),
      'Programs or settings outside of the project were changed while it ran.',
    ),
  ]
}

/** Links that lead out of the worktree: what is there is in no commit. */
export function linksOutside(top: string, files: readonly ChangedFile[]): string[] {
  return files.flatMap(({ status, path: file }) => {
    const at = path.join(top, file)
    if (status === 'D' || !statOf(at)?.isSymbolicLink()) return []
    const leadsTo = path.resolve(path.dirname(at), readlinkSync(at))
    return leadsTo === top || leadsTo.startsWith(`${top}${path.sep}`) ? [] : [file]
  })
}

/** The changed files whose reads leave no trace: links, and repositories in the repository. */
export function notWatched(top: string, files: readonly ChangedFile[]): Set<string> {
  return new Set(
    files.filter(({ path: file }) => statOf(path.join(top, file))?.isFile() === false).map(one => one.path),
  )
}

/** Changed files of the folders that a worktree has by a link, such as `node_modules`. */
async function changedInLinked({ folder, top }: TaskTree, since: number): Promise<string[]> {
  const found: string[] = []
  for (const entry of entriesOf(folder)) {
    if (!entry.isSymbolicLink()) continue
    const target = realOf(path.join(folder, entry.name))
    if (target === undefined || target.startsWith(`${top}${path.sep}`)) continue
    for (const file of await changedBelow(target, since))
      found.push(path.join(entry.name, path.relative(target, file)))
  }
  return found.slice(0, MAX_FILES)
}

async function changedInDependencies(folder: string, since: number): Promise<string[]> {
  const found: string[] = []
  for (const name of DEPENDENCIES) {
    const at = path.join(folder, name)
    if (!statOf(at)?.isDirectory()) continue
    found.push(...(await changedBelow(at, since)).map(file => path.relative(folder, file)))
  }
  return found.slice(0, MAX_FILES)
}

/** Changed ones of these files, and of the files in these folders, which end with `/`. */
async function changedIn(top: string, since: number, entries: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const entry of entries) {
    const at = path.join(top, entry)
    if (entry.endsWith('/'))
      found.push(...(await changedBelow(at, since)).map(file => path.relative(top, file)))
    else if (isChanged(statOf(at), since)) found.push(entry)
    if (found.length >= MAX_FILES) break
  }
  return found.slice(0, MAX_FILES)
}

/** They are looked at by themselves: a set-up may change them at any time. */
function isNoDependency(entry: string): boolean {
  return !DEPENDENCIES.some(name => `/${entry}/`.includes(`/${name}/`))
}

/**
 * Tests that were written to since a moment, in milliseconds, at which checks began: what runs then is not what is in the
 * commit. A runner writes snapshots, and tests write fixtures, but neither writes the code of tests.
 */
export function testsWrittenSince(top: string, files: readonly string[], since: number): string[] {
  return files
    .filter(file => isTestFile(file) && TEST_CODE.test(file) && !FIXTURES.test(file))
    .filter(file => isChanged(statOf(path.join(top, file)), since))
    .slice(0, MAX_FILES)
}

const TEST_CODE = /\.([cm]?[jt]sx?|py|go|rs|java|kt|rb|php|cs)$/
const FIXTURES = /(^|\/)(__fixtures__|fixtures?|__snapshots__|snapshots?|test-?data|tmp|temp|output)\//i

/** Runners look for their configuration, and loaders for modules, in the folders above as well. */
function changedAbove(checkedIn: readonly string[], since: number): string[] {
  const above = new Set<string>([processEnv().HOME ?? homedir()])
  for (const folder of checkedIn)
    for (let at = path.dirname(folder); !above.has(at); at = path.dirname(at)) above.add(at)
  return [...above].flatMap(folder => {
    const names = entriesOf(folder).map(entry => entry.name)
    return changedAmong(folder, since, [...names, ...IN_FOLDERS_ABOVE], isFoundAbove).map(name =>
      path.join(folder, name),
    )
  })
}

function changedAmong(
  folder: string,
  since: number,
  names: readonly string[],
  judges: (name: string) => boolean,
): string[] {
  return names.filter(name => {
    if (!judges(name) && !/(^|\/)(node_modules|\.gitconfig|\.cargo\/config(\.toml)?)$/.test(name))
      return false
    return isChanged(statOf(path.join(folder, name)), since)
  })
}

/** Programs that checks find by their name, and what the package managers and Python load beside them. */
async function changedPrograms(checks: readonly string[], since: number, top: string): Promise<string[]> {
  const { PATH = '', HOME = homedir() } = processEnv()
  const folders = PATH.split(path.delimiter).filter(
    folder => path.isAbsolute(folder) && !folder.startsWith(top),
  )
  const found: string[] = []
  const asked = new Set([...PROGRAMS, ...checks.flatMap(check => check.split(/[^\w.@+-]+/))])
  for (const folder of new Set(folders.map(realOf).filter(at => at !== undefined))) {
    if (!canWrite(folder)) continue
    const known = entriesOf(folder).filter(
      ({ name }) => asked.has(name) || /^(?:python|pip|node)[\d.]*$/.test(name),
    )
    const names = known.map(entry => path.join(folder, entry.name))
    found.push(...names.filter(name => isChanged(statOf(name), since)))
    if (names.includes(path.join(folder, 'npm')))
      found.push(...(await changedBelow(path.join(folder, '..', 'lib', 'node_modules', 'npm'), since)))
  }
  const pythons = path.join(HOME, '.local', 'lib')
  for (const { name } of entriesOf(pythons)) {
    const site = path.join(pythons, name, 'site-packages')
    found.push(
      ...entriesOf(site)
        .map(entry => path.join(site, entry.name))
        .filter(file => isChanged(statOf(file), since)),
    )
  }
  return found
}

/** Changed files below a folder, as many as are needed to be named. */
async function changedBelow(top: string, since: number): Promise<string[]> {
  const found: string[] = []
  const folders = [top]
  let seen = 0
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of entriesOf(folder)) {
      // Runners and loaders keep their caches there.
      if (entry.name === '.cache' || (folder === top && entry.name.startsWith('.') && entry.name !== '.bin'))
        continue
      const file = path.join(folder, entry.name)
      if (entry.isDirectory()) folders.push(file)
      else if (isChanged(statOf(file), since)) found.push(file)
      seen += 1
      if (seen === MAX_ENTRIES || found.length === MAX_FILES) return found
      if (seen % AT_ONCE === 0) await nextTurn()
    }
  }
  return found
}

/** The time of the last change of anything about it: no program can set it back. */
function isChanged(facts: Stats | undefined, since: number): boolean {
  return facts !== undefined && facts.ctimeMs > since
}

function statOf(file: string): Stats | undefined {
  return quietly(() => lstatSync(file))
}

function realOf(file: string): string | undefined {
  return quietly(() => realpathSync(file))
}

function entriesOf(folder: string) {
  return quietly(() => readdirSync(folder, { withFileTypes: true })) ?? []
}

function canWrite(folder: string): boolean {
  return quietly(() => accessSync(folder, constants.W_OK) === undefined) ?? false
}

function quietly<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

/** Beside those that the checks name: what scripts of projects begin with. */
const PROGRAMS =
  'npm npx pnpm pnpx yarn corepack bun deno tsx make sh bash dash env git pytest go cargo rustc java mvn gradle ruby'.split(
    ' ',
  )
const DEPENDENCIES = ['node_modules', '.venv', 'venv', 'vendor']
const IN_FOLDERS_ABOVE = ['.cargo/config', '.cargo/config.toml']
const MAX_FILES = 5
const MAX_ENTRIES = 400_000
const AT_ONCE = 2_000
