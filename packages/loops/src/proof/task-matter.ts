import path from 'node:path'
import type { TaskState } from '../loop-state.ts'
import type { TaskTree } from '../task-tree.ts'
import { notWatched } from './hidden-changes.ts'
import { type ChangedFile, configsIn, findMatter, type Matter, type MatterFacts } from './matter.ts'
import type { BaseResult } from './verdict.ts'

/** Which of the files that a task changed judge. */
export async function matterOf(
  tree: TaskTree,
  { task, read = null, counted = [] }: TaskState,
  {
    base,
    setup,
    ...facts
  }: Pick<MatterFacts, 'files' | 'show' | 'inBase'> & { base: BaseResult[]; setup: readonly string[] },
): Promise<Matter> {
  const listed = [...base, ...counted].flatMap(one => one.counted?.counts.files ?? [])
  return findMatter({
    ...{ ...facts, commands: [...setup, ...task.checks], prefix: tree.prefix, read, listed },
    notWatched: notWatched(tree.top, facts.files),
  })
}

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
  return {
    show: async (at, file) => texts.get(`${at === 'base' ? from : commit}:${file}`),
    isFalse: [...isFalse],
  }
}
