import { existsSync } from 'node:fs'
import path from 'node:path'
import { formatDuration, needsYouText, usdText, visibleLine } from '@chirality/core'
import type { LoopState, TaskState } from './loop-state.ts'
import { flagLine, type Receipt, readReceipt } from './receipt.ts'
import { spentOf } from './spent.ts'
import type { Task } from './task-list.ts'

/** One page for a loop: what is proved, what needs a person, what it cost, and what to look at. */
export function reportText(state: LoopState, tasks: readonly Task[] | undefined, folder: string): string {
  const known = [...state.tasks.values()]
  const of = (status: TaskState['status']) => known.filter(task => task.status === status)
  const open = (tasks ?? []).filter(({ id, ticked }) => !ticked && !state.tasks.has(id))
  const spent = spentOf(state)
  const end = state.end?.at ?? new Date().toISOString()
  const limit = state.settings.budget_usd === undefined ? '' : ` of ${usdText(state.settings.budget_usd)}`
  const cost = spent.usd === null ? 'unknown' : `${spent.isEstimate ? '≈ ' : ''}${usdText(spent.usd)}${limit}`
  const took = formatDuration(Date.parse(end) - Date.parse(state.startedAt))
  const receipts = new Map(of('merged').map(task => [task.task.id, receiptOf(folder, task.task.id)]))
  const flagged = of('merged').filter(({ task }) => (receipts.get(task.id)?.flags.length ?? 0) > 0)
  return [
    `# Loop ${state.loopId}`,
    '',
    `${of('merged').length} proved · ${needsYouText(of('parked').length)} · ${of('failed').length} failed · ${open.length + of('working').length} to go`,
    '',
    `- ${state.end === undefined ? 'It is not over.' : state.end.why}`,
    `- Cost: ${cost}, ${spent.tokens} tokens`,
    `- Time: ${took}, ${state.iterations} iterations`,
    `- List: ${state.list}`,
    `- Merged in the worktree ${state.worktreeId}, from ${state.base.slice(0, 10)}`,
    ...changesOf(state),
    '',
    ...section(
      'Look at this first',
      flagged.flatMap(({ task }) => [
        `**${task.title}**`,
        '',
        ...(receipts.get(task.id)?.flags.map(flagLine) ?? []),
        '',
      ]),
    ),
    ...section(
      'Proved',
      of('merged').flatMap(task => [provedLine(task, receipts.get(task.task.id)), ...handedLines(task)]),
    ),
    ...section(
      'Needs you',
      of('parked').flatMap(task => [
        `- **${task.task.title}** (${task.parked}): ${task.why ?? ''}`,
        ...handedLines(task),
        ...(task.commands !== undefined
          ? task.commands.map(command => `  - Allow it: ${allowLine(state, command)}`)
          : [
              `  - Worktree ${task.worktreeId}, session ${task.sessionId}`,
              `  - Go on: \`chirality loop resume ${state.loopId} --task ${task.task.id} --note "…"\``,
            ]),
      ]),
    ),
    ...section(
      'Failed',
      of('failed').flatMap(task => [
        `- **${task.task.title}**: ${task.why ?? ''}`,
        ...handedLines(task),
        `  - Worktree ${task.worktreeId}, session ${task.sessionId}`,
      ]),
    ),
    ...section(
      'To go',
      [...of('working').map(({ task }) => task), ...open].map(({ title }) => `- ${title}`),
    ),
  ].join('\n')
}

/** The command line that allows exactly this command. None for one with characters that nobody would see or type. */
function allowLine({ loopId }: LoopState, command: string): string {
  const shown = visibleLine(command)
  if (shown !== command) return `on the page of the loop (it has hidden characters): \`${shown}\``
  return `\`chirality loop resume ${loopId} --allow '${command.replaceAll("'", "'\\''")}'\``
}

function section(title: string, lines: string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, '', ...lines, '']
}

function provedLine(
  { task, diff, commit, results, iterations }: TaskState,
  receipt: Receipt | undefined,
): string {
  const change = `+${diff?.insertions ?? 0} −${diff?.deletions ?? 0}`
  const cost = receipt?.costUsd == null ? '' : `, ${usdText(receipt.costUsd)}`
  return `- ${task.title}: ${change}, ${results.length} checks, ${commit?.slice(0, 10)}, ${iterations} iterations${cost}`
}

function handedLines({ handed = [] }: TaskState): string[] {
  return handed.map(({ from, to, why }) => `  - Handed from ${from} to ${to}: ${why}`)
}

function changesOf({ changes }: LoopState): string[] {
  return (['added', 'changed', 'removed'] as const).flatMap(kind =>
    changes[kind].length === 0
      ? []
      : [`- While it ran, the list had tasks ${kind}: ${changes[kind].join(', ')}`],
  )
}

function receiptOf(folder: string, id: string): Receipt | undefined {
  const file = path.join(folder, 'receipts', `${id}.json`)
  try {
    return existsSync(file) ? readReceipt(file) : undefined
  } catch {
    // A damaged receipt must not hide the report.
    return undefined
  }
}
