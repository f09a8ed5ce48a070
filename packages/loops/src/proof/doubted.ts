import { hasPassed } from '../checks.ts'
import type { LoopContext } from '../loop-context.ts'
import type { LoopState, TaskState } from '../loop-state.ts'
import type { TaskTree } from '../task-tree.ts'
import { flag, noted } from './flags.ts'
import type { FreshCheckout } from './fresh-checkout.ts'
import type { JudgeFacts } from './judge.ts'
import { changedTexts, matterOf } from './task-matter.ts'
import { type Flag, type FlagKind, verdictOf } from './verdict.ts'

/** Changes below a task that judge it and that a person has yet to look at. */
export interface Doubted {
  titles: string[]
  /** Files that judge and were changed by these tasks. */
  files: string[]
  /** Flags for changes that cannot be put back for a run. */
  flags: Flag[]
}

/** Tasks of the loop that are merged below this one, are to be looked at and were not accepted. */
export async function doubtedBefore(tree: TaskTree, state: LoopState, task: TaskState): Promise<Doubted> {
  const doubted: Doubted = { titles: [], files: [], flags: [] }
  for (const other of state.tasks.values()) {
    const verdict = verdictOf(other)
    if (other === task || verdict?.word !== 'look' || other.accepted !== undefined) continue
    const kinds = verdict.flags.map(({ kind }) => kind).filter(kind => JUDGING.has(kind))
    if (kinds.length === 0 || other.merged === undefined || !(await tree.isAncestor(other.merged, task.base)))
      continue
    const { title } = other.task
    const putBack = other.proof?.judged.kind === 'ran' ? other.proof.judged.putBack : []
    doubted.files.push(...putBack)
    if (putBack.length > 0) doubted.titles.push(title)
    if (putBack.length === 0 || kinds.some(kind => STAYS.has(kind)))
      doubted.flags.push(
        noted(
          'judged-differently',
          `It is built on “${title}”, which may change what checks say: look at that first.`,
        ),
      )
  }
  return doubted
}

/** The checks on the agent's code, with what those tasks changed as it was when the loop began. */
export async function flagsOfDoubted(
  checkout: FreshCheckout,
  { state }: Pick<LoopContext, 'state'>,
  { tree, task, doubted, facts }: { tree: TaskTree; task: TaskState; doubted: Doubted; facts: JudgeFacts },
): Promise<Flag[]> {
  const { commit } = facts
  const wanted = new Set(doubted.files)
  const files = (await tree.difference(state.base, commit)).files.filter(file => wanted.has(file.path))
  if (files.length === 0) return []
  const inBase = await tree.filesIn(state.base)
  const { show } = await changedTexts(tree, { from: state.base, commit, files, inBase })
  const { composed } = await matterOf(tree, task, {
    files,
    base: [],
    from: state.base,
    inBase,
    show,
    setup: state.settings.setup,
  })
  await checkout.put(commit, facts.files, { gone: 'D' })
  await checkout.put(state.base, files, { gone: 'A', texts: composed })
  const broken = await checkout.setUp()
  if (broken !== undefined)
    return [
      noted(
        'not-known',
        `The set-up failed with the tests that the loop began with: ${broken.slice(0, 500)}`,
      ),
    ]
  const failed: string[] = []
  for (const { command, before } of facts.checks)
    if (before?.state !== 'red' && !hasPassed((await checkout.run(command)).result)) failed.push(command)
  const words = `With the tests as they were before ${doubted.titles.map(title => `“${title}”`).join(', ')} \`${failed.join('`, `')}\` fails: look at that first.`
  return failed.length === 0
    ? []
    : flag(
        'judged-differently',
        files.map(({ path }) => path),
        words,
      )
}

const JUDGING: ReadonlySet<FlagKind> = new Set<FlagKind>([
  ...(['tests-deleted', 'tests-skipped', 'tests-weakened', 'checks-changed', 'judged-differently'] as const),
  ...(['unknown-matter', 'no-tests', 'test-aware', 'hidden-change'] as const),
])
/** Flags for changes in the code or outside of the commit: they are there still. */
const STAYS: ReadonlySet<FlagKind> = new Set<FlagKind>(['test-aware', 'hidden-change', 'unknown-matter'])
