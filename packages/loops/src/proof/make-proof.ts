import type { CheckRecord } from '../checks.ts'
import { LoopBranch } from '../loop-branch.ts'
import type { LoopContext } from '../loop-context.ts'
import type { TaskState } from '../loop-state.ts'
import type { TaskTree } from '../task-tree.ts'
import { knownBase } from './base-checks.ts'
import { branchTimes } from './branch-times.ts'
import { type FileLines, linesOf, newLines } from './changed-lines.ts'
import { flagsOfCounts } from './count-flags.ts'
import { type Doubted, doubtedBefore, flagsOfDoubted } from './doubted.ts'
import { flagsOfEmptyTests, flagsOfUnawaited } from './empty-tests.ts'
import { foreignCode, movedEntries, shadowing } from './entry-points.ts'
import { fits } from './file-kinds.ts'
import { flag, flagsOfDiff, noted } from './flags.ts'
import { FreshCheckout, judgingFolder } from './fresh-checkout.ts'
import { flagsOfHiddenChanges, linksOutside } from './hidden-changes.ts'
import { type JudgeFacts, judge, judgingFiles, redGreen } from './judge.ts'
import { hasOtherVersions } from './judging-part.ts'
import type { ChangedFile, MatterFacts } from './matter.ts'
import { tryMutants } from './mutants.ts'
import { triedWords } from './proof-words.ts'
import { flagsOfTampering } from './tampering.ts'
import { changedTexts, matterOf } from './task-matter.ts'
import type { BaseResult, Flag, Judged, Proof, RedGreen } from './verdict.ts'

export interface ProofFacts {
  tree: TaskTree
  /** Holds the results of the checks on the agent's tree. */
  task: TaskState
  commit: string
}

/** Why a task whose checks held on the agent's tree counts as it does. */
export async function makeProof(loop: LoopContext, { tree, task, commit }: ProofFacts): Promise<Proof> {
  const { checks } = task.task
  const { results: own, counted = [], base: from } = task
  const base = checks.flatMap(command => knownBase(loop.state, task.base, command) ?? [])
  const { files, stat: diff } = from === commit ? NO_CHANGE : await tree.difference(from, commit)
  const inBase = files.length === 0 ? [] : await tree.filesIn(from)
  const { show, isFalse } = await changedTexts(tree, { from, commit, files, inBase })
  const matter = await matterOf(tree, task, {
    files,
    base,
    from,
    inBase,
    show,
    setup: loop.state.settings.setup,
  })
  const lines = await patchOf(tree, { from, commit, files })
  const there = new Set([...inBase, ...files.map(file => file.path)])
  for (const file of files) if (file.status === 'D') there.delete(file.path)
  const isThere = (file: string) =>
    file.includes('*')
      ? [...there].some(one => fits(one, file))
      : EXTENSIONS.some(end => there.has(`${file}${end}`))
  const held = checks.flatMap((command, at) =>
    own[at]?.exitCode === 0 ? [{ command, before: base.find(one => one.command === command) }] : [],
  )
  const facts: JudgeFacts = { base: from, commit, files, matter, checks: held }
  const doubted = await doubtedBefore(tree, loop.state, task)
  const runs = await judgedRuns(loop, { tree, task, doubted }, facts, lines)
  const countedFlags = flagsOfCounts(base, counted, {
    checks,
    hasChangedTests: matter.tests.length > 0,
    passed: at => own[at]?.exitCode === 0,
  })
  const counts = countsOf(base, counted)
  const { tree: branch } = await LoopBranch.open(loop.host, loop.state)
  const hidden = await flagsOfHiddenChanges({
    tree,
    branch,
    checks,
    since: Date.parse(task.startedAt),
    branchTimes: branchTimes(loop.state),
    checkedIn: [tree.folder, branch.folder, judgingFolder(loop.host.home)],
  })
  return {
    base,
    own,
    counts,
    judged: runs.judged,
    fresh: runs.fresh,
    ...(runs.mutants === undefined ? {} : { mutants: runs.mutants }),
    flags: unique([
      ...baseFlags(base, own),
      ...runs.flags,
      ...doubted.flags,
      ...countedFlags,
      ...flag('hidden-change', task.hidden ?? [], 'Files were changed in a way that git does not show.'),
      ...hidden,
      ...flag('hidden-change', linksOutside(tree.top, files), 'Has links that lead out of the project.'),
      ...flag('hidden-change', isFalse, 'The repository has other texts for files than their hashes say.'),
      ...(await flagsOfManifests(files, show, isThere)),
      ...(await flagsOfLoading(files, show, there)),
      ...flagsOfEmptyTests(lines?.filter(({ path: file }) => matter.tests.includes(file)) ?? []),
      ...flagsOfUnawaited(lines?.filter(({ path: file }) => matter.tests.includes(file)) ?? []),
      ...(await flagsOfTampering(files, matter, show)),
      ...flagsOfDiff({ files, matter, lines, diff, isThere }),
    ]),
  }
}

async function flagsOfManifests(
  files: readonly ChangedFile[],
  show: MatterFacts['show'],
  isThere: (path: string) => boolean,
): Promise<Flag[]> {
  const versions: string[] = []
  const entries: Flag[] = []
  for (const { path: file } of files) {
    if (!/(^|\/)package\.json$/.test(file)) continue
    const base = (await show('base', file)) ?? ''
    const now = (await show('now', file)) ?? ''
    if (hasOtherVersions(base, now)) versions.push(file)
    const moved = movedEntries(file, base, now, isThere)
    if (moved.length > 0)
      entries.push(
        ...flag('checks-changed', [file], `Leads imports to other files: ${moved.slice(0, 5).join(', ')}.`),
      )
  }
  return [
    ...flag(
      'lock-changed',
      versions,
      'Changed the versions of packages that it depended on, or depends on them no more.',
    ),
    ...entries,
  ]
}

/** Modules that are found or run otherwise than their names say. */
async function flagsOfLoading(
  files: readonly ChangedFile[],
  show: MatterFacts['show'],
  there: ReadonlySet<string>,
): Promise<Flag[]> {
  const foreign: string[] = []
  for (const { path: file, status } of files) {
    if (status === 'D' || !/\.[cm]?[jt]sx?$/.test(file)) continue
    foreign.push(...foreignCode(file, (await show('now', file)) ?? '', at => there.has(at)))
  }
  return [
    ...flag(
      'checks-changed',
      shadowing(files, there),
      'Added files that are found before others of their name.',
    ),
    ...flag('test-aware', foreign, 'Runs files that are not named like code.'),
  ]
}

async function patchOf(
  tree: TaskTree,
  { from, commit, files }: { from: string; commit: string; files: ChangedFile[] },
): Promise<FileLines[] | null> {
  if (files.length === 0) return []
  const patch = await tree.changedLines(from, commit)
  return patch === null ? null : linesOf(files, patch)
}

interface Runs {
  judged: Judged
  fresh: RedGreen
  mutants?: NonNullable<Proof['mutants']>
  flags: Flag[]
}

/** Runs of the checks in one fresh checkout. None is made where nothing that judges was changed. */
async function judgedRuns(
  loop: LoopContext,
  { tree, task, doubted }: { tree: TaskTree; task: TaskState; doubted: Doubted },
  facts: JudgeFacts,
  lines: FileLines[] | null,
): Promise<Runs> {
  const judging = judgingFiles(facts)
  const known = freshWithoutRun(facts, lines, task.read ?? null)
  const { mutation = 0, mutation_minutes } = loop.state.settings
  const runs: Runs = { judged: { kind: 'same' }, fresh: known ?? { kind: 'none' }, flags: [] }
  const isJudged = judging.length > 0 && facts.checks.length > 0
  const isDoubted = doubted.files.length > 0
  if (facts.checks.length === 0 || (!isJudged && !isDoubted && mutation === 0)) return runs
  const inFresh = (work: (checkout: FreshCheckout) => Promise<void>) =>
    FreshCheckout.with(loop, { id: task.worktreeId, shownAs: task.task.id, commit: facts.commit }, work)
  const work = async (checkout: FreshCheckout) => {
    if (isJudged) {
      const { judged, flags } = await judge(checkout, facts)
      runs.judged = judged
      runs.flags.push(...flags)
      if (known === undefined && judged.kind === 'ran') runs.fresh = await redGreen(checkout, facts)
    } else await checkout.setUp()
    if (mutation > 0 && runs.judged.kind !== 'unreadable')
      runs.mutants = await tryMutants(checkout, {
        ...facts,
        lines,
        wanted: mutation,
        limitMs: mutation_minutes * 60_000,
        signal: loop.signal,
      })
    if (isDoubted) runs.flags.push(...(await flagsOfDoubted(checkout, loop, { tree, task, doubted, facts })))
  }
  await inFresh(work).catch((error: unknown) => {
    const why = `The fresh checkout failed: ${error instanceof Error ? error.message : String(error)}`
    runs.judged = { kind: 'unreadable', why }
    runs.flags.push(noted('not-known', why))
  })
  if (runs.fresh.kind === 'green' && known === undefined)
    runs.flags.push(noted('proves-nothing', 'Its new tests hold without its change, too.'))
  if (runs.mutants?.planned !== undefined)
    runs.flags.push(noted('not-known', `Mutations of its lines were ${triedWords(runs.mutants)}.`))
  const survived = runs.mutants?.survived ?? []
  if (survived.length > 0)
    runs.flags.push(
      noted(
        'proves-nothing',
        `${survived.length} of ${runs.mutants?.tried} mutations of its lines were not noticed.`,
      ),
    )
  return runs
}

/** Undefined if it takes a run to know. */
function freshWithoutRun(
  { files, matter, checks }: JudgeFacts,
  lines: FileLines[] | null,
  read: readonly string[] | null,
): RedGreen | undefined {
  const tests = lines?.filter(({ path }) => matter.tests.includes(path)) ?? []
  if (newLines(tests).length === 0 || checks.length === 0) return { kind: 'none' }
  if (checks.some(({ before }) => before?.state === 'red')) return { kind: 'red' }
  const judging = new Set([...matter.tests, ...matter.means])
  const isWork = ({ path, status }: ChangedFile) =>
    !judging.has(path) && (read === null || status === 'D' || read.includes(path))
  if (!files.some(isWork))
    return { kind: 'green', why: 'Only tests were changed: they say how the code already was.' }
  return undefined
}

function countsOf(base: readonly BaseResult[], counted: NonNullable<TaskState['counted']>): Proof['counts'] {
  const after = counted.find(one => one.counted !== null)?.counted ?? null
  const before = base.find(one => one.counted !== null)?.counted ?? null
  return {
    before: before?.counts ?? null,
    after: after?.counts ?? null,
    by: after?.runner ?? before?.runner ?? null,
  }
}

function baseFlags(base: readonly BaseResult[], own: readonly CheckRecord[]): Flag[] {
  return base.flatMap(({ command, state }) => {
    const now = own.find(result => result.command === command)
    if (state === 'flaky')
      return [noted('base-not-green', `\`${command}\` did not say the same twice before the task began.`)]
    if (state === 'red' && now !== undefined && now.exitCode !== 0)
      return [
        noted(
          'base-not-green',
          `\`${command}\` failed before the task and still does: it says nothing of it.`,
        ),
      ]
    return []
  })
}

function unique(flags: readonly Flag[]): Flag[] {
  return [...new Map(flags.map(one => [`${one.kind} ${one.words}`, one])).values()]
}

const NO_CHANGE = { files: [], stat: { files: 0, insertions: 0, deletions: 0 } }
const EXTENSIONS = ['', '.js', '.ts', '.mjs', '.cjs', '.jsx', '.tsx', '.py', '/index.js', '/index.ts']
