import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { visibleLine } from '@chirality/core'
import { setUpFolder } from '@chirality/sessions'
import { type CheckResult, hasPassed, runCheck } from './checks.ts'
import { flagsAnew } from './proof/anew.ts'
import type { Proof } from './proof/verdict.ts'
import { TaskTree } from './task-tree.ts'
import type { Add, Facts, VerifyOptions } from './verify-facts.ts'

interface VerifyContext {
  options: VerifyOptions
  add: Add
  projectRoot: string
}

/** Runs the checks on the commit, on the base, and on the commit with the judging files of the base. */
export async function runAgain(
  facts: Facts,
  repository: TaskTree,
  place: VerifyContext,
): Promise<CheckResult[]> {
  const { receipt, checks, proof } = facts
  const { add } = place
  const at = (commit: string, putBack: readonly string[] = []) =>
    runAt(facts, repository, { commit, putBack, ...place })
  const now = await at(receipt.commit)
  if (checks.length === 0) add('checks', 'unknown', 'It has no check: nothing says that the change is right.')
  else if (now.cannot !== undefined) add('checks', 'unknown', `They cannot be run: ${now.cannot}`)
  else {
    const failed = now.results.filter(result => !hasPassed(result) && !isRedAnyway(result, proof))
    const words = `${checks.length === 1 ? 'The check passes' : `All ${checks.length} checks pass`} on the commit.`
    add('checks', failed.length === 0, failed.length === 0 ? words : failed.map(resultWords).join(' '))
  }
  if (proof === undefined) {
    add('base', 'unknown', 'Results of the checks before the change are not recorded.')
    add('judged', 'unknown', 'Results of the checks with the tests of the base are not recorded.')
  } else if (checks.length > 0) {
    await checkBase(proof, await at(receipt.base), add)
    await checkJudged(proof, putBack => at(receipt.commit, putBack), add)
  }
  return now.results
}

interface Ran {
  results: CheckResult[]
  /** Why the checks were not run. */
  cannot?: string
}

async function checkBase({ base }: Proof, { results, cannot }: Ran, add: Add): Promise<void> {
  if (cannot !== undefined) return add('base', 'unknown', `The checks cannot be run on the base: ${cannot}`)
  const differs = results.filter(({ command, exitCode }) => {
    const known = base.find(one => one.command === command)
    // A flaky check proves nothing with one run.
    return known !== undefined && known.state !== 'flaky' && (known.state === 'green') !== (exitCode === 0)
  })
  if (base.length === 0)
    return add('base', 'unknown', 'Results of the checks before the change are not recorded.')
  add(
    'base',
    differs.length === 0,
    differs.length === 0
      ? 'On the base the checks do what was recorded.'
      : `On the base it is not as recorded: ${differs.map(resultWords).join(' ')}`,
  )
}

async function checkJudged(
  { judged }: Proof,
  run: (putBack: readonly string[]) => Promise<Ran>,
  add: Add,
): Promise<void> {
  if (judged.kind === 'same') return add('judged', true, 'Nothing that judges it was changed.')
  if (judged.kind === 'unreadable') return add('judged', 'unknown', judged.why)
  const { results, cannot } = await run(judged.putBack)
  if (cannot !== undefined) return add('judged', 'unknown', `The checks cannot be run: ${cannot}`)
  const exits = new Map(judged.results.map(({ command, exitCode }) => [command, exitCode]))
  const other = results.filter(
    ({ command, exitCode }) => exits.has(command) && exits.get(command) !== exitCode,
  )
  const files = judged.putBack.slice(0, 5).join(', ')
  const words = other.length === 0 ? 'the checks do what was recorded' : 'it is not as recorded'
  add(
    'judged',
    other.length === 0,
    `With ${files} as in the base ${words}. ${other.map(resultWords).join(' ')}`.trim(),
  )
}

/** Runs in a worktree with the set-up of tasks, which is removed afterwards. */
async function runAt(
  facts: Facts,
  repository: TaskTree,
  at: VerifyContext & { commit: string; putBack: readonly string[] },
): Promise<Ran> {
  const { commit, putBack, options, projectRoot } = at
  const { host, signal = new AbortController().signal } = options
  const parent = await mkdtemp(path.join(tmpdir(), 'chirality-verify-'))
  const top = path.join(parent, path.basename(repository.top))
  const marker = randomUUID()
  const results: CheckResult[] = []
  try {
    await repository.checkOut(top, commit)
    const tree = await TaskTree.open(path.join(top, repository.prefix))
    if (putBack.length > 0) await putAsInBase(facts, tree, putBack)
    const run = { cwd: tree.folder, timeoutMs: facts.checkMinutes * 60_000, marker, signal }
    for (const command of facts.setup) {
      const result = await runCheck(command, run)
      results.push(result)
      if (!hasPassed(result)) return { results, cannot: resultWords(result) }
    }
    const { variables, problems } = await setUpFolder(host, {
      projectRoot,
      id: marker,
      folder: tree.folder,
      signal,
    })
    const [problem] = problems
    if (problem !== undefined) return { results, cannot: problem }
    for (const command of facts.checks) results.push(await runCheck(command, { ...run, env: variables }))
    return { results }
  } finally {
    await repository.removeCheckOut(top)
    await rm(parent, { recursive: true, force: true })
  }
}

async function putAsInBase(
  { receipt, task, setup }: Facts,
  tree: TaskTree,
  putBack: readonly string[],
): Promise<void> {
  const { base, commit } = receipt
  const { files } = await tree.difference(base, commit)
  const composed =
    task === undefined ? undefined : (await flagsAnew(tree, task, { commit, setup })).matter.composed
  const isThere = new Set(files.filter(({ status }) => status !== 'A').map(file => file.path))
  await tree.restoreFrom(
    base,
    putBack.filter(file => isThere.has(file)),
  )
  for (const file of putBack) {
    const text = composed?.get(file)
    if (text !== undefined) await writeFile(path.join(tree.top, file), text)
    else if (!isThere.has(file)) await rm(path.join(tree.top, file), { recursive: true, force: true })
  }
}

/** True if the check failed before the task too, and did not count against it. */
function isRedAnyway({ command }: CheckResult, proof: Proof | undefined): boolean {
  return proof?.own.some(one => one.command === command && one.exitCode !== 0) === true
}

function resultWords({ command, exitCode, stopped }: CheckResult): string {
  return `\`${visibleLine(command)}\` ${stopped ?? `exits with ${exitCode}`}.`
}
