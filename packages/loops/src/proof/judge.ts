import { type CheckResult, checkRecordOf, hasPassed } from '../checks.ts'
import { ranIn } from './count-flags.ts'
import type { CheckRun } from './counted-check.ts'
import { flag, noted } from './flags.ts'
import type { FreshCheckout } from './fresh-checkout.ts'
import type { ChangedFile, Matter } from './matter.ts'
import type { BaseResult, Flag, Judged, RedGreen } from './verdict.ts'

export interface JudgeFacts {
  base: string
  commit: string
  files: readonly ChangedFile[]
  matter: Matter
  /** Checks that passed on the agent's tree, with their results on the base. */
  checks: readonly { command: string; before: BaseResult | undefined }[]
}

/** The checks on the agent's code with what judges it as in the base. The checkout is at the agent's commit. */
export async function judge(
  checkout: FreshCheckout,
  facts: JudgeFacts,
): Promise<{ judged: Judged; flags: Flag[] }> {
  const { base, commit, checks, matter } = facts
  const judging = judgingFiles(facts)
  const results: CheckResult[] = []
  const flags: Flag[] = []
  const runAll = async (some: JudgeFacts['checks']) => {
    const since = Date.now() + 1
    for (const { command, before } of some) {
      const run = await checkout.run(command)
      results.push(run.result)
      flags.push(...differences(run, before, judging))
    }
    flags.push(...flag('hidden-change', await checkout.writtenSince(since), WRITTEN))
  }
  await checkout.put(base, judging, { gone: 'A', texts: matter.composed })
  const broken = await checkout.setUp()
  if (broken !== undefined) {
    const why = `The set-up failed with what judges as in the base: ${broken.slice(0, MAX_WHY)}`
    return { judged: { kind: 'unreadable', why }, flags: [noted('not-known', why)] }
  }
  await runAll(checks.filter(({ before }) => before?.state !== 'red'))
  // What failed before may need the new tests to pass, but not those that were changed.
  const turned = checks.filter(({ before }) => before?.state === 'red')
  if (turned.length > 0 && judging.some(({ status }) => status !== 'A')) {
    const added = judging.filter(({ status }) => status === 'A')
    await checkout.put(commit, added, { gone: 'D' })
    await runAll(turned)
  }
  const putBack = judging.map(({ path }) => path)
  return { judged: { kind: 'ran', results: results.map(checkRecordOf), putBack }, flags }
}

export function judgingFiles({ files, matter }: Pick<JudgeFacts, 'files' | 'matter'>): ChangedFile[] {
  const judging = new Set([...matter.tests, ...matter.means])
  return files.filter(({ path }) => judging.has(path))
}

function differences(
  { result, counted }: CheckRun,
  before: BaseResult | undefined,
  judging: readonly ChangedFile[],
): Flag[] {
  const { command, exitCode, stopped } = result
  const files = judging.map(({ path }) => path)
  if (!hasPassed(result)) {
    const failing = counted?.failing.slice(0, 5).join(', ') ?? ''
    const words = `With the tests of the base \`${command}\` ${stopped ?? `exits with ${exitCode}`}${failing === '' ? '' : ` (${failing})`}.`
    return flag('judged-differently', files, words)
  }
  const was = before?.counted?.counts
  if (was === undefined) return []
  if (counted === null)
    return flag(
      'judged-differently',
      files,
      `With the tests of the base those of \`${command}\` cannot be counted.`,
    )
  return ranIn(counted.counts) < ranIn(was)
    ? flag(
        'judged-differently',
        files,
        `With the tests of the base \`${command}\` runs ${ranIn(counted.counts)} tests, and ran ${ranIn(was)} before.`,
      )
    : []
}

/** The new tests on the old code: `checkout` is as `judge` left it. */
export async function redGreen(checkout: FreshCheckout, facts: JudgeFacts): Promise<RedGreen> {
  const { base, commit, files, checks } = facts
  const judging = judgingFiles(facts)
  const work = files.filter(file => !judging.includes(file))
  await checkout.put(base, work, { gone: 'A' })
  await checkout.put(commit, judging, { gone: 'D' })
  for (const { command } of checks)
    if (!hasPassed((await checkout.run(command)).result)) return { kind: 'red' }
  return {
    kind: 'green',
    why: 'The new tests hold on the code before the change as well: they prove nothing of it.',
  }
}

/** Something that is not of the check, as nothing of it writes tests. */
export const WRITTEN = 'Tests were written to while checks ran them.'
const MAX_WHY = 1_000
