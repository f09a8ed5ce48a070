import path from 'node:path'
import { usdText, visibleLine } from '@chirality/core'
import {
  allCommandsOf,
  type LoopSettings,
  limitsSpending,
  parseTaskList,
  readDefaultBudget,
  readNamedFile,
  STATED_BUDGET_USD,
  type TaskList,
  writeDefaultBudget,
} from '@chirality/loops'
import { userDataFolder } from '@chirality/sessions'
import { asked } from '../../confirm.ts'
import { UsageError } from '../../exit-code.ts'
import type { Output } from '../../output.ts'
import { commandsWords } from '../../render/commands-words.ts'
import { plain } from '../../render/style.ts'

/** The list as a loop would read it. */
export async function readList(file: string): Promise<TaskList> {
  const text = await readNamedFile(file)
  if (text === undefined) throw new UsageError(`There is no task list ${file}, or it cannot be read.`)
  return parseTaskList(text, path.basename(file))
}

/** How the list was read, before anything of it runs: which tasks, what was read otherwise than it may be meant. */
export async function showList(list: TaskList, output: Output): Promise<void> {
  const toDo = list.tasks.filter(({ ticked }) => !ticked)
  const done = list.tasks.length - toDo.length
  const lines = toDo
    .slice(0, MAX_TASKS)
    .map(({ title, line, checks }) => `  ${line}: ${visibleLine(title)}${checksWords(checks.length)}`)
  const more = toDo.length - lines.length
  await output.write(
    plain(
      [
        `${tasksText(toDo.length)} to do${done === 0 ? '' : `, ${done} ticked before`}, by line:`,
        ...[...lines, ...(more > 0 ? [`  and ${more} more`] : [])],
        ...list.notices.map(notice => `  Note: ${visibleLine(notice)}`),
        '',
      ].join('\n'),
    ),
  )
  const words = commandsWords('Runs without asking:', allCommandsOf(list))
  if (words !== undefined) await output.write(`${words}\n`)
}

const MAX_TASKS = 20

function tasksText(count: number): string {
  return count === 1 ? '1 task' : `${count} tasks`
}

function checksWords(count: number): string {
  if (count === 0) return ' · no check'
  return count === 1 ? ' · 1 check' : ` · ${count} checks`
}

/**
 * The budget of a loop whose list names none. On a terminal it is asked for once, and the answer counts for the loops to
 * come; elsewhere it is the stated one. `words` says which it is.
 */
export async function budgetFor(
  { settings }: TaskList,
  given: Partial<LoopSettings>,
): Promise<{ settings: Partial<LoopSettings>; words?: string }> {
  if (limitsSpending(settings) || limitsSpending(given) || Object.hasOwn(given, 'budget_usd'))
    return { settings: given }
  const usd = await defaultBudget(userDataFolder())
  const words =
    usd === null
      ? 'Budget: none, as you chose. --budget, or budget_usd in the list, sets one.'
      : `Budget: ${usdText(usd)}, because the list names none. --budget, or budget_usd in the list, changes it.`
  return { settings: { ...given, budget_usd: usd ?? undefined }, words }
}

/** Null is no limit. */
async function defaultBudget(home: string): Promise<number | null> {
  const known = readDefaultBudget(home)
  if (known !== undefined) return known
  const answer = await asked(
    `The list names no budget. How many dollars may a loop spend, this one and the next ones? [${STATED_BUDGET_USD}, or none] `,
  )
  if (answer === undefined) return STATED_BUDGET_USD
  const typed = answer === '' ? STATED_BUDGET_USD : Number(answer.replace(/^\$/, ''))
  const usd = /^none$/i.test(answer) ? null : typed
  if (usd !== null && !(usd > 0 && Number.isFinite(usd)))
    throw new UsageError(`A budget is dollars above 0, or none, not "${answer}". Nothing was started.`)
  writeDefaultBudget(home, usd)
  return usd
}
