import path from 'node:path'
import {
  commandsByKind,
  type LoopBook,
  loopError,
  parseTaskList,
  type Task,
  type TaskList,
  withBudget,
} from '@chirality/loops'
import { fingerprintOf, type SessionHost, TrustStore } from '@chirality/sessions'
import { checkBase } from '@chirality/workspaces'
import { readRegularFile } from '../files/read-file.ts'
import type { LoopPlan } from '../shapes/loops.ts'

interface PlanOptions {
  host: Pick<SessionHost, 'home'>
  book: LoopBook
  root: string
  /** The list, as a path in the project and as the file that it is. */
  list: string
  file: string
}

/** The plan of a loop on the list: its tasks and commands, and what keeps it from starting. Changes nothing. */
export async function planLoop({ host, book, root, list, file }: PlanOptions): Promise<LoopPlan> {
  const { parsed, problem } = await read(file)
  const base = await checkBase(root).catch((error: unknown) => messageOf(error))
  const changed = typeof base === 'string' ? [] : await book.uncommitted(file)
  const open = await book.openOn(file)
  const toDo = parsed?.tasks.filter(({ ticked }) => !ticked) ?? []
  const commands = parsed === undefined ? null : commandsByKind(parsed)
  const fingerprint = commands === null ? '' : markOf(list, commands)
  const problems: LoopPlan['problems'] = [
    ...(problem === undefined ? [] : [{ kind: 'list' as const, words: problem }]),
    ...(parsed !== undefined && toDo.length === 0
      ? [{ kind: 'list' as const, words: 'All tasks of the list are ticked.' }]
      : []),
    ...(typeof base === 'string' ? [{ kind: 'git' as const, words: base }] : []),
    ...(open === undefined
      ? []
      : [{ kind: 'running' as const, words: `The loop ${open.loopId} on this list is not over.` }]),
    ...(changed.length === 0 ? [] : [{ kind: 'dirty' as const, words: dirtyWords(changed) }]),
  ]
  const settings = parsed && withBudget(host.home, parsed.settings)
  return {
    list,
    problems,
    tasks: toDo.map(shownTask),
    done: (parsed?.tasks.length ?? 0) - toDo.length,
    notices: parsed?.notices ?? [],
    branch: typeof base === 'string' ? null : base.branch,
    ...(commands ?? { setup: [], checks: [] }),
    limits: {
      budgetUsd: settings?.budget_usd ?? null,
      maxIterations: settings?.max_iterations ?? null,
      maxMinutes: settings?.max_minutes ?? null,
      parallel: settings?.parallel ?? 1,
      waitForLimits: settings?.wait_for_limits ?? 0,
      handOver: settings?.hand_over ?? false,
      nextHarnesses: settings?.next_harnesses ?? [],
    },
    openLoop: open?.loopId ?? null,
    fingerprint,
    isAllowed:
      commands !== null &&
      (commands.setup.length + commands.checks.length === 0 ||
        new TrustStore({ home: host.home }).isTrusted(root, KIND, fingerprint)),
  }
}

/** Throws if the list names other commands than those that were shown; otherwise they are not asked about again. */
export async function allowCommands(
  { host, root, list }: Omit<PlanOptions, 'book' | 'file'>,
  parsed: TaskList,
  fingerprint: string,
): Promise<void> {
  if (markOf(list, commandsByKind(parsed)) !== fingerprint)
    throw loopError(
      'loop-refused',
      'The list names other commands than those that were shown. Look at them again.',
    )
  await new TrustStore({ home: host.home }).trust(root, KIND, fingerprint)
}

const KIND = 'loop-commands'

async function read(file: string): Promise<{ parsed?: TaskList; problem?: string }> {
  try {
    return { parsed: parseTaskList(await readRegularFile(file), path.basename(file)) }
  } catch (error) {
    return { problem: messageOf(error) }
  }
}

function markOf(list: string, commands: { setup: string[]; checks: string[] }): string {
  const sorted = [commands.setup, [...commands.checks].sort()]
  return fingerprintOf([{ path: list, bytes: JSON.stringify(sorted) }])
}

function shownTask({ id, title, groups, dependsOn, checks, expect, persona, harness, model }: Task) {
  return {
    id,
    title,
    groups,
    dependsOn,
    expect,
    checks: checks.length,
    persona: persona ?? null,
    harness: harness ?? null,
    model: model ?? null,
  }
}

function dirtyWords(changed: string[]): string {
  const names = changed.slice(0, 3).join(', ')
  return `${changed.length} files are not committed (${names}${changed.length > 3 ? ', …' : ''}). Agents work from the last commit and do not see them.`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
