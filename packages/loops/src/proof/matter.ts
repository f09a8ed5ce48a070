import path from 'node:path'
import { wordsOf } from './check-words.ts'
import {
  ALWAYS_READ,
  CODE,
  fits,
  isKnownWork,
  isOwnCode,
  isOwnProgram,
  isTestFile,
  LOCK,
  MEANS,
} from './file-kinds.ts'
import { isMixed, withJudgingPart } from './judging-part.ts'
import { ledFiles, type ProjectBefore, stemOf } from './led-files.ts'
import { assertsForTests, isReadByTests, type TestTexts } from './tested-by.ts'

export interface ChangedFile {
  /** `A`, `M` or `D`; `T` if it is of another kind now. */
  status: string
  /** Path from the top of the repository. */
  path: string
}

export interface MatterFacts extends ProjectBefore {
  files: readonly ChangedFile[]
  /** Commands of the set-up and of the checks. */
  commands: readonly string[]
  /** The changed files that the checks read. Null if that could not be seen. */
  read: readonly string[] | null
  /** The changed files of which a read would not be seen. */
  notWatched?: ReadonlySet<string>
  /** Test files by the runner's own list, before and after, from the folder of the check. */
  listed: readonly string[]
  /** The tests as they were before, by file: those of the runner's own list, and those that are by their name. */
  testTexts?(listed: ReadonlySet<string>): Promise<TestTexts>
}

/** The changed files that judge, by what they are. */
export interface Matter {
  /** Tests, their helpers, fixtures and snapshots. */
  tests: string[]
  /** Configuration, scripts and whatever else decides what checks run, and how. */
  means: string[]
  /** Checks read them, and no rule says what they are. */
  unknown: string[]
  /** Texts of `means` with the parts that judge as in the base. */
  composed: Map<string, string>
}

/** Sorts the changed files: those that say what is right, and not those that the task asks for. */
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

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}

function isManifest(file: string): boolean {
  return path.posix.basename(file) === 'package.json'
}
