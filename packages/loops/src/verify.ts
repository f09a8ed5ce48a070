import path from 'node:path'
import { visibleLine } from '@chirality/core'
import type { CheckResult } from './checks.ts'
import { loopError } from './loop-error.ts'
import { type LoopState, notAllowedWords, type TaskState } from './loop-state.ts'
import { LoopStore } from './loop-store.ts'
import { flagsAnew } from './proof/anew.ts'
import { flagsOf } from './proof/verdict.ts'
import { type Receipt, readLoopReceipt, readSignedReceipt, type SignedReceipt } from './receipt.ts'
import { TaskTree } from './task-tree.ts'
import type { Add, Facts, Finding, Verification, VerifyOptions } from './verify-facts.ts'
import { runAgain } from './verify-runs.ts'

/**
 * Verifies all claims about a task: the journal and its signatures, the receipt, the commit, the change, the flags, and
 * the checks on the base, on the commit and with the tests of the base. `what` is a receipt file or the id of a merged
 * task. A receipt lies in the project, where clones and agents with a shell can write: alone it proves nothing and
 * allows no command.
 */
export async function verifyTask(what: string, options: VerifyOptions): Promise<Verification> {
  const store = new LoopStore(options.projectRoot, options.host.home)
  const findings: Finding[] = []
  const add = (part: Finding['part'], result: Finding['result'] | boolean, words: string) => {
    findings.push({ part, result: typeof result === 'string' ? result : result ? 'holds' : 'fails', words })
  }
  const { given, state } = await subjectOf(what, store, options)
  const task = state?.tasks.get(given.receipt.task.id)
  checkJournal(given.receipt, state, add)
  checkSignature(given, store, add)
  await checkReceipt(given, { state, task, store }, add)
  const facts = factsOf(given.receipt, state, task)
  const commands = [...facts.setup, ...facts.checks]
  requireAllowed(given.receipt.loop, commands, { ...options, what, store })
  const results: CheckResult[] = []
  const repository = await TaskTree.open(store.projectRoot)
  if (await checkCommit(facts, repository, add)) {
    await checkChange(facts, repository, add)
    results.push(...(await runAgain(facts, repository, { options, add, projectRoot: store.projectRoot })))
  }
  const { id, title } = given.receipt.task
  return { task: { id, title }, loopId: given.receipt.loop, commit: facts.receipt.commit, findings, results }
}

async function subjectOf(
  what: string,
  store: LoopStore,
  { projectRoot }: VerifyOptions,
): Promise<{ given: SignedReceipt; state: LoopState | undefined }> {
  if (!/^[a-z0-9][a-z0-9-]{0,79}$/.test(what)) {
    const given = await readSignedReceipt(what)
    const found = await store.find(given.receipt.loop)
    return { given, state: found?.isForeign ? undefined : found }
  }
  const state = (await store.list()).find(loop => loop.tasks.get(what)?.status === 'merged')
  if (state === undefined)
    throw loopError(
      'loop-missing',
      `No loop of ${projectRoot} has merged a task ${what}. Name a task by its id, as loop status --json has it, or a receipt file.`,
    )
  const file = path.join(store.folder(state.loopId), 'receipts', `${what}.json`)
  return { given: await readSignedReceipt(file), state }
}

function checkJournal({ loop }: Receipt, state: LoopState | undefined, add: Add): void {
  if (state === undefined)
    return add(
      'journal',
      'unknown',
      `The loop ${loop} is not in your data folder: only the receipt speaks for it.`,
    )
  const { broken, altered, unreadable, entries } = state
  if (unreadable !== undefined) return add('journal', 'unknown', `The journal ${unreadable}.`)
  if (broken.length > 0)
    return add('journal', false, `Changed since this machine wrote it: ${broken.join('; ')}.`)
  const again =
    altered.length === 0
      ? ''
      : ` While it ran, somebody changed files, which were written anew: ${altered.join('; ')}.`
  add(
    'journal',
    true,
    `All ${entries} entries follow from each other, and are signed by this machine.${again}`,
  )
}

function checkSignature({ signed }: SignedReceipt, { seal }: LoopStore, add: Add): void {
  if (signed === undefined) return add('signature', 'unknown', 'The receipt is not signed.')
  if (seal === undefined) return add('signature', 'unknown', 'The key of this machine is gone or damaged.')
  if (signed.key !== seal.id)
    return add(
      'signature',
      'unknown',
      `It is signed with the key ${signed.key}, and this machine has ${seal.id}.`,
    )
  const isGood = seal.holds('receipt', signed.text, signed.sig)
  add(
    'signature',
    isGood,
    isGood ? 'Signed by this machine.' : 'The receipt was changed after it was signed.',
  )
}

async function checkReceipt(
  { receipt, hash }: SignedReceipt,
  { state, task, store }: { state: LoopState | undefined; task: TaskState | undefined; store: LoopStore },
  add: Add,
): Promise<void> {
  if (state === undefined) return
  if (task?.status !== 'merged')
    return add('receipt', false, `The journal has the task as ${task?.status ?? 'not begun'}, not merged.`)
  if (task.receipt === hash) return add('receipt', true, 'It is the one that the journal names.')
  const original = await readLoopReceipt(store.folder(state.loopId), task)
  const keys = Object.keys(receipt) as (keyof Receipt)[]
  const other = keys.filter(key => JSON.stringify(receipt[key]) !== JSON.stringify(original?.[key]))
  const where =
    original === undefined ? ', which is gone or changed' : other.length === 0 ? '' : `: ${other.join(', ')}`
  add('receipt', false, `It is not the one that the journal names${where}.`)
}

/** Takes the facts from the journal if there is one. */
function factsOf(receipt: Receipt, state: LoopState | undefined, task: TaskState | undefined): Facts {
  if (state === undefined || task === undefined)
    return {
      receipt,
      setup: receipt.setup,
      checks: receipt.checks.map(({ command }) => command),
      checkMinutes: DEFAULT_CHECK_MINUTES,
    }
  const { base, commit = base, merged = null, diff = receipt.diff, proof } = task
  return {
    receipt: { ...receipt, base, commit, merged, diff, task: { ...receipt.task, expect: task.task.expect } },
    task,
    setup: state.settings.setup,
    checks: task.task.checks,
    checkMinutes: state.settings.check_minutes,
    proof,
  }
}

/** True if the commits to check exist. */
async function checkCommit({ receipt }: Facts, repository: TaskTree, add: Add): Promise<boolean> {
  const { base, commit, merged } = receipt
  for (const one of [base, commit])
    if (!(await repository.hasCommit(one))) {
      add('commit', false, `The commit ${one} is not in the repository.`)
      return false
    }
  if (merged === null) add('commit', 'unknown', 'It is not merged.')
  else {
    const branches = (await repository.hasCommit(merged)) ? await repository.branchesWith(merged) : []
    const isIn = branches.length > 0 && (await repository.isAncestor(commit, merged))
    add(
      'commit',
      isIn,
      isIn
        ? `${commit.slice(0, 10)} is merged as ${merged.slice(0, 10)}, on ${branches.slice(0, 3).join(', ')}.`
        : `${commit.slice(0, 10)} is on no branch by its merge ${merged.slice(0, 10)}.`,
    )
  }
  return true
}

async function checkChange({ receipt, task, setup }: Facts, repository: TaskTree, add: Add): Promise<void> {
  const { base, commit, diff } = receipt
  const { files, insertions, deletions } = await repository.diffStat(base, commit)
  const words = `+${insertions} −${deletions} in ${files} files`
  const isSame = files === diff.files && insertions === diff.insertions && deletions === diff.deletions
  const isExpected = files > 0 === (receipt.task.expect === 'diff')
  if (!isSame)
    add(
      'change',
      false,
      `The change is ${words}, not +${diff.insertions} −${diff.deletions} in ${diff.files} files.`,
    )
  else if (!isExpected)
    add(
      'change',
      false,
      files > 0 ? 'Files were changed, and the task must change none.' : 'No file was changed.',
    )
  else add('change', true, `The change is ${words}.`)
  if (task === undefined)
    return add('flags', 'unknown', 'Changes to look at are known only with the journal.')
  const said = flagsOf(task)
  const { flags: found } = await flagsAnew(repository, task, { commit, setup })
  const kinds = new Set(said.map(({ kind }) => kind))
  const missing = found.filter(({ kind }) => !kinds.has(kind))
  if (missing.length > 0)
    add('flags', false, `Not reported before: ${missing.map(flag => flag.words).join(' ')}`)
  else
    add(
      'flags',
      true,
      said.length === 0 ? 'Nothing to look at.' : `Look at this: ${said.map(flag => flag.words).join(' ')}`,
    )
}

function requireAllowed(
  loopId: string,
  commands: readonly string[],
  { what, store, allow = [] }: VerifyOptions & { what: string; store: LoopStore },
): void {
  const other = allow.find(command => !commands.includes(command))
  if (other !== undefined)
    throw loopError('loop-refused', `${what} has no command \`${visibleLine(other)}\`.`)
  const own = store.own(loopId)
  const allowed = new Set([...(own?.project === store.projectRoot ? own.allowed : []), ...allow])
  const refused = [...new Set(commands)].filter(command => !allowed.has(command))
  if (refused.length === 0) return
  throw loopError(
    'loop-refused',
    `Nothing was run. ${notAllowedWords(refused)}\nA receipt lies in the project, where an agent or a clone can write it. Allow exactly a command that you know: chirality loop verify ${what} --allow '…' (may be repeated)`,
  )
}

const DEFAULT_CHECK_MINUTES = 10
