import type { TaskState } from '../loop-state.ts'
import type { TaskTree } from '../task-tree.ts'
import { linesOf } from './changed-lines.ts'
import { flagsOfDiff } from './flags.ts'
import { findMatter, type Matter } from './matter.ts'
import { testTextsAt } from './task-matter.ts'
import type { Flag } from './verdict.ts'

/**
 * What the commits of a merged task alone say of it, computed anew. What its checks opened is not kept: files that only
 * that would tell of are not judged again, and not named.
 */
export async function flagsAnew(
  tree: TaskTree,
  { task, base, proof }: TaskState,
  { commit, setup }: { commit: string; setup: readonly string[] },
): Promise<{ flags: Flag[]; matter: Matter }> {
  const files = base === commit ? [] : (await tree.difference(base, commit)).files
  const { before, after } = proof?.counts ?? { before: null, after: null }
  const inBase = await tree.filesIn(base)
  const matter = await findMatter({
    files,
    commands: [...setup, ...task.checks],
    prefix: tree.prefix,
    read: null,
    inBase,
    listed: [...(before?.files ?? []), ...(after?.files ?? [])],
    show: async (at, file) => {
      const name = `${at === 'base' ? base : commit}:${file}`
      return (await tree.textsOf([name])).get(name)
    },
    testTexts: testTextsAt(tree, base, inBase),
  })
  const patch = files.length === 0 ? '' : await tree.changedLines(base, commit)
  const lines = patch === null ? null : patch === '' ? [] : linesOf(files, patch)
  const there = new Set(await tree.filesIn(commit))
  const flags = flagsOfDiff({
    files,
    matter,
    lines,
    diff: await tree.diffStat(base, commit),
    isThere: file => there.has(file),
  })
  return { flags: flags.filter(({ kind }) => kind !== 'unknown-matter'), matter }
}
