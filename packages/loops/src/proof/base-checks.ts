import { setUpFolder } from '@chirality/sessions'
import { failureOf, hasPassed, runShown } from '../checks.ts'
import { isSetUpAwaited, notAllowed } from '../commands.ts'
import { LoopBranch } from '../loop-branch.ts'
import type { LoopContext } from '../loop-context.ts'
import { loopError } from '../loop-error.ts'
import type { LoopSettings } from '../loop-settings.ts'
import { baseKey, type LoopState } from '../loop-state.ts'
import type { Task } from '../task-list.ts'
import { baseOf, missingWords } from './base.ts'
import { branchTimes, during } from './branch-times.ts'
import { type CheckRun, runCounted } from './counted-check.ts'
import { FreshCheckout, removeLeft } from './fresh-checkout.ts'
import type { BaseResult } from './verdict.ts'

/** Runs the checks of a list before anything is paid for. Why the loop cannot begin, if they cannot run. */
export async function whyNotBegin(loop: LoopContext, tasks: readonly Task[]): Promise<string | undefined> {
  const { state, signal } = loop
  await removeLeft(loop)
  if (isSetUpAwaited(state)) return undefined
  const open = tasks.filter(
    task => !task.ticked && !state.tasks.has(task.id) && notAllowed(state, task).length === 0,
  )
  const commands = [...new Set(open.flatMap(({ checks }) => checks))].slice(0, MAX_BASE_CHECKS)
  const { head: commit, worktreeId: id, settings } = state
  await checkBase(loop, { commit, commands, id })
  if (signal.aborted) return undefined
  const known = commands.flatMap(command => knownBase(state, commit, command) ?? [])
  return missingWords(known, settings.setup)
}

/** A check of more than one task has to stay true; what only one of them has, it has to make true. */
export function isShared(command: string, settings: LoopSettings, tasks: readonly Task[]): boolean {
  return (
    settings.checks.includes(command) || tasks.filter(({ checks }) => checks.includes(command)).length > 1
  )
}

/** Results of the checks before the first task began. */
export function firstBase({ base, settings, baseResults }: LoopState): BaseResult[] {
  const prefix = baseKey({ commit: base, setup: settings.setup, command: '' }).slice(0, -3)
  return [...baseResults].flatMap(([key, result]) => (key.startsWith(prefix) ? [result] : []))
}

/** Known result of a check on a commit, with the set-up that the loop has now. */
export function knownBase(state: LoopState, commit: string, command: string): BaseResult | undefined {
  return state.baseResults.get(baseKey({ commit, setup: state.settings.setup, command }))
}

interface BaseRequest {
  commit: string
  commands: readonly string[]
  /** Id of the worktree that they are run for. */
  id: string
  /** The task under which they are shown. Default: that of the loop itself. */
  shownAs?: string
}

/**
 * Runs checks on a commit before an agent changes anything, those of which it is not known what they do there. Throws if
 * the set-up fails.
 */
export async function checkBase(
  loop: LoopContext,
  { commit, commands, id, shownAs = id }: BaseRequest,
): Promise<void> {
  const { host, state, signal } = loop
  // A program that was missing may be there by now.
  const isOpen = (command: string) => (knownBase(state, commit, command)?.state ?? 'missing') === 'missing'
  const open = [...new Set(commands)].filter(isOpen)
  if (open.length === 0) return
  const speak = async (run: (command: string) => Promise<CheckRun>, folder: string) => {
    for (const command of open) {
      const result = await baseOf(command, run, folder)
      if (signal.aborted) return
      loop.record({ type: 'base:checked', commit, setup: state.settings.setup, results: [result] })
    }
  }
  await loop.merging(async () => {
    const branch = await LoopBranch.open(host, state)
    if ((await branch.tree.head()) === commit && !(await branch.tree.isChanged())) {
      await setUpBranch(loop, branch.tree.folder)
      await speak(await branchRunner(loop, branch.tree.folder, shownAs), branch.tree.folder)
      return
    }
    await FreshCheckout.with(loop, { id: `${id}-base`, shownAs, commit }, async checkout => {
      const broken = await checkout.setUp()
      if (broken !== undefined) throw loopError('loop-refused', `The set-up failed. ${broken}`)
      await speak(command => checkout.run(command), checkout.tree.folder)
    })
  })
}

/** Sets the worktree of the loop's branch up, as those of tasks are. Again, if what it depends on was changed. */
export async function setUpBranch(loop: LoopContext, folder: string, isAgain = false): Promise<void> {
  const { host, state, signal, record, running } = loop
  if (state.isSetUp && !isAgain) return
  const { projectRoot, worktreeId: id } = state
  await during(state, async () => {
    for (const command of state.settings.setup) {
      const result = await runShown(command, optionsOf(loop, folder), { id, running })
      if (signal.aborted) return
      if (!hasPassed(result)) throw loopError('loop-refused', `The set-up failed. ${failureOf(result)}`)
    }
    const { variables, problems } = await setUpFolder(host, { projectRoot, id, folder, signal })
    if (signal.aborted) return
    if (problems.length > 0) throw loopError('loop-refused', `The set-up failed. ${problems.join(' ')}`)
    await host.worktrees.noteSetup(id, { hash: '', state: 'done', variables })
    branchTimes(state).setUp = Date.now()
    if (!state.isSetUp) record({ type: 'loop:setup' })
  })
}

/** Runs checks in the worktree of the loop's branch, shown under an id. */
export async function branchRunner(
  loop: LoopContext,
  folder: string,
  id: string,
): Promise<(command: string) => Promise<CheckRun>> {
  const env = await variablesOf(loop, loop.state.worktreeId)
  const options = { ...optionsOf(loop, folder), env }
  return command => during(loop.state, () => runCounted(command, options, { id, running: loop.running }))
}

/** Variables that the user's set-up gave to a worktree: checks need them as agents do. */
export async function variablesOf(
  { host }: LoopContext,
  worktreeId: string,
): Promise<Record<string, string>> {
  return (await host.worktrees.find(worktreeId))?.setup?.variables ?? {}
}

function optionsOf({ state, signal }: LoopContext, folder: string) {
  return { cwd: folder, marker: state.worktreeId, signal, timeoutMs: state.settings.check_minutes * 60_000 }
}

/** Cap of the checks that run before the loop begins: others run before the first turn of their task. */
const MAX_BASE_CHECKS = 50
