import { formatDuration, usdText, VERDICT_WORDS, verdictsText, visibleLine } from '@chirality/core'
import { claimedIn } from './live-list.ts'
import type { LoopState, TaskState } from './loop-state.ts'
import { flagsOf, verdictCounts, verdictOf } from './proof/verdict.ts'
import { flagLine } from './receipt.ts'
import { addSpent, spentOf } from './spent.ts'
import type { Task } from './task-list.ts'

/**
 * The report of a loop: proved tasks, tasks that need a person, costs, and changes to look at. All of it comes from the
 * journal, except `warnings` about changes made elsewhere.
 */
export function reportText(
  state: LoopState,
  { tasks, warnings }: { tasks: readonly Task[] | undefined; warnings: readonly string[] },
): string {
  const known = [...state.tasks.values()]
  const of = (status: TaskState['status']) => known.filter(task => task.status === status)
  const toGo = tasksToGo(state, tasks)
  const claimed = claimedIn(state, tasks ?? [])
  const spent = spentOf(state)
  const end = state.end?.at ?? new Date().toISOString()
  const limit = state.settings.budget_usd === undefined ? '' : ` of ${usdText(state.settings.budget_usd)}`
  const cost = spent.usd === null ? 'unknown' : `${spent.isEstimate ? '≈ ' : ''}${usdText(spent.usd)}${limit}`
  const took = formatDuration(Date.parse(end) - Date.parse(state.startedAt))
  const withWord = (word: string) => of('merged').filter(task => verdictOf(task)?.word === word)
  const flagged = of('merged').filter(task => flagsOf(task).length > 0)
  const somebody = claimed.length === 0 ? '' : ` · ${claimed.length} ticked by somebody, not proved`
  return [
    `# Loop ${state.loopId}`,
    '',
    ...section(
      'Somebody changed files of this loop',
      warnings.map(warning => `- ${warning}`),
    ),
    `${verdictsText(verdictCounts(known), true)}${somebody} · ${toGo.length} to go`,
    '',
    `- ${state.end === undefined ? 'It is not over.' : state.end.why}`,
    `- Cost: ${cost}, ${spent.tokens} tokens`,
    `- Time: ${took}, ${state.iterations} iterations`,
    `- List: ${state.list}`,
    ...branchLines(state),
    ...changesOf(state),
    '',
    ...section(
      'Look at this first',
      flagged.flatMap(task => [`**${task.task.title}**`, '', ...flagsOf(task).map(flagLine), '']),
    ),
    ...(['proved', 'look', 'no-check'] as const).flatMap(word =>
      section(
        capital(VERDICT_WORDS[word]),
        withWord(word).flatMap(task => [mergedLine(task), ...handedLines(task)]),
      ),
    ),
    ...section(
      'Needs you',
      of('parked').flatMap(task => [
        `- **${task.task.title}** (${task.parked}): ${task.why ?? ''}`,
        ...handedLines(task),
        ...((task.commands ?? []).length > 0
          ? (task.commands ?? []).map(command => `  - Allow it: ${allowLine(state, command)}`)
          : [
              `  - Worktree ${task.worktreeId}, session ${task.sessionId}`,
              `  - Go on: \`chirality loop resume ${state.loopId} --task ${task.task.id} --note "…"\``,
            ]),
      ]),
    ),
    ...section(
      capital(VERDICT_WORDS['not-proved']),
      of('failed').flatMap(task => [
        `- **${task.task.title}**: ${task.why ?? ''}`,
        ...handedLines(task),
        `  - Worktree ${task.worktreeId}, session ${task.sessionId}`,
      ]),
    ),
    ...section(
      'Ticked by somebody, not proved',
      claimed.map(({ title }) => `- ${title}`),
    ),
    ...section(
      'To go',
      toGo.map(({ id, title }) => `- ${title}${lastFailure(state.tasks.get(id))}`),
    ),
  ].join('\n')
}

/** Location of the proved work, and the way to take it over. */
function branchLines({ branch, worktreeId, base, baseBranch, tasks, loopId }: LoopState): string[] {
  const merged = [...tasks.values()].filter(({ status }) => status === 'merged')
  const open = merged.filter(({ accepted }) => accepted === undefined)
  const into = baseBranch === null ? '' : ` into ${baseBranch}`
  return [
    `- Branch: ${branch ?? 'not made yet'} (worktree ${worktreeId}), from ${base.slice(0, 10)}`,
    ...(open.length === 0 || branch === undefined
      ? []
      : [`- Take it over${into}: \`chirality loop accept ${loopId}\`, or \`git merge ${branch}\``]),
    ...(merged.length > open.length ? [`- ${merged.length - open.length} of them accepted`] : []),
  ]
}

/** Why the last attempt at an unfinished task was not accepted. */
export function lastFailure(task: TaskState | undefined): string {
  const [line = ''] = (task?.status === 'working' ? (task.failure ?? '') : '').split('\n')
  return line === '' ? '' : ` (last attempt: ${line})`
}

/** Tasks that are neither proved, failed nor parked: started and reverted ones, and further ones of the list. */
export function tasksToGo(state: LoopState, tasks: readonly Task[] = []): Task[] {
  const begun = [...state.tasks.values()].filter(
    ({ status }) => status === 'working' || status === 'reverted',
  )
  // Tasks that somebody ticked have a section of their own.
  const listed = tasks.filter(({ id, ticked }) => !ticked && !state.tasks.has(id))
  return [...begun.map(({ task }) => task), ...listed]
}

/** The command line that allows exactly this command. For one with invisible characters it refers to the page. */
function allowLine({ loopId }: LoopState, command: string): string {
  const shown = visibleLine(command)
  if (shown !== command) return `on the page of the loop (it has hidden characters): \`${shown}\``
  return `\`chirality loop resume ${loopId} --allow '${command.replaceAll("'", "'\\''")}'\``
}

function capital(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`
}

function section(title: string, lines: string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, '', ...lines, '']
}

function mergedLine(task: TaskState): string {
  const { diff, commit, results, iterations } = task
  const change = `+${diff?.insertions ?? 0} −${diff?.deletions ?? 0}`
  const { usd } = addSpent(task.spentBefore, task.spent)
  const cost = usd === null ? '' : `, ${usdText(usd)}`
  return `- ${task.task.title}: ${change}, ${results.length} checks, ${commit?.slice(0, 10)}, ${iterations} iterations${cost}`
}

/** Changes of agent and denied requests during the task. */
function handedLines({ handed = [], denied = [], parked }: TaskState): string[] {
  return [
    ...handed.map(({ from, to, why }) => `  - Handed from ${from} to ${to}: ${why}`),
    // The reason for parking names the denials already.
    ...(parked === 'permission' ? [] : denied.map(words => `  - Its agent was not allowed: ${words}`)),
  ]
}

function changesOf({ changes }: LoopState): string[] {
  return (['added', 'changed', 'removed', 'unticked'] as const).flatMap(kind =>
    changes[kind].length === 0
      ? []
      : [`- While it ran, the list had tasks ${kind}: ${changes[kind].join(', ')}`],
  )
}
