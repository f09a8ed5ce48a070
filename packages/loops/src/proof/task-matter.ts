import path from 'node:path'
import type { TaskState } from '../loop-state.ts'
import type { TaskTree } from '../task-tree.ts'
import { configsIn, isTestFile } from './file-kinds.ts'
import { notWatched } from './hidden-changes.ts'
import { type ChangedFile, findMatter, type Matter, type MatterFacts } from './matter.ts'
import type { TestTexts } from './tested-by.ts'
import type { BaseResult } from './verdict.ts'

/** Sorts the files that a task changed by whether they judge. */
export async function matterOf(
  tree: TaskTree,
  { task, read = null, counted = [] }: TaskState,
  {
    base,
    from,
    setup,
    ...facts
  }: Pick<MatterFacts, 'files' | 'show' | 'inBase'> & {
    base: BaseResult[]
    /** The commit of `inBase`. */
    from: string
    setup: readonly string[]
  },
): Promise<Matter> {
  const listed = [...base, ...counted].flatMap(one => one.counted?.counts.files ?? [])
  return findMatter({
    ...facts,
    commands: [...setup, ...task.checks],
    prefix: tree.prefix,
    read,
    listed,
    notWatched: notWatched(tree.top, facts.files),
    testTexts: testTextsAt(tree, from, facts.inBase),
  })
}

/** Makes `MatterFacts.testTexts`. */
export function testTextsAt(
  tree: TaskTree,
  base: string,
  inBase: readonly string[],
): (listed: ReadonlySet<string>) => Promise<TestTexts> {
  return async listed => {
    const tests = inBase.filter(file => listed.has(file) || isTestFile(file)).slice(0, MAX_TESTS)
    const texts = await tree.textsOf(tests.map(file => `${base}:${file}`))
    return new Map([...texts].map(([name, text]) => [name.slice(base.length + 1), text]))
  }
}

const MAX_TESTS = 5_000

/** The changed files as they were and are, read by one git: a change may have thousands of them. */
export async function changedTexts(
  tree: TaskTree,
  { from, commit, files, inBase }: { from: string; commit: string; files: ChangedFile[]; inBase: string[] },
): Promise<{ show: MatterFacts['show']; isFalse: string[] }> {
  const both = new Set([...files.map(file => file.path), path.posix.join(tree.prefix, 'package.json')])
  const before = configsIn(inBase, tree.prefix).filter(file => !both.has(file))
  const names = [
    ...[from, commit].flatMap(at => [...both].map(file => `${at}:${file}`)),
    ...before.map(file => `${from}:${file}`),
  ]
  const isFalse = new Set<string>()
  const note = (name: string) => isFalse.add(name.slice(name.indexOf(':') + 1))
  const texts = await tree.textsOf(files.length === 0 ? [] : names, note)
  const asked = new Set(names)
  return {
    show: async (at, file) => {
      const name = `${at === 'base' ? from : commit}:${file}`
      if (!asked.has(name)) for (const [key, text] of await tree.textsOf([name], note)) texts.set(key, text)
      asked.add(name)
      return texts.get(name)
    },
    isFalse: [...isFalse],
  }
}
