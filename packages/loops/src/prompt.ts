import type { TaskState } from './loop-state.ts'

export interface IterationPrompt {
  state: TaskState
  /** Results of earlier tasks, newest last. */
  progress: string
  patterns: readonly string[]
  /** Output of the last checks. */
  failure: string | undefined
}

/**
 * The message of one iteration. Each part and the whole are capped, so that the output of a check cannot displace the
 * task itself.
 */
export function packPrompt({ state, progress, patterns, failure }: IterationPrompt): string {
  const { task, iterations, notes, handed, earlier, denied = [] } = state
  const isFirst = iterations === 0
  const parts = [
    part('Task', [...task.groups, task.title].join(' › '), 2_000),
    part('Notes', task.notes, 8_000),
    part('What was done before', handed !== undefined ? HANDED : earlier !== undefined ? EARLIER : '', 1_000),
    part('Answers and notes from the user', notes.join('\n\n'), 8_000),
    part(
      'How it is judged',
      task.expect === 'none'
        ? `Change no file. ${checksText(task.checks)}`
        : `The files of this folder have to be changed. ${checksText(task.checks)} They are run after you have finished, by a program: saying that it is done does not count. Do not edit the task list. ${task.mayChangeTests ? MAY_CHANGE : MUST_STAY}`,
      4_000,
    ),
    part(isFirst ? '' : 'Why the last attempt was not accepted', failure ?? '', 14_000, 'ends'),
    part('What you were not allowed', denied.map(words => `- ${words}`).join('\n'), 2_000),
    part('Worth knowing about this project', patterns.map(line => `- ${line}`).join('\n'), 3_000),
    part('Done so far in this list', progress, 6_000, 'end'),
    'If you cannot go on without an answer, ask one question and stop. What later tasks should know about the project, say in lines that begin with "Pattern:".',
  ]
  return cut(parts.filter(Boolean).join('\n\n'), MAX_PROMPT, 'ends')
}

/** The lines of an answer that start with `Pattern:`. */
export function patternsIn(text: string): string[] {
  return [...text.matchAll(/^[ \t]*(?:[-*] )?Pattern:[ \t]*(.+)$/gm)]
    .map(([, words = '']) => words.trim().slice(0, 200))
    .filter(Boolean)
    .slice(0, 5)
}

const MUST_STAY =
  'The checks and tests that were there before are run on your code as well, as they were: do not change or remove them to make them pass.'
const MAY_CHANGE =
  'Tests that exist may be changed where the task needs it. They are also run as they were, and each difference is shown to a person.'
const HANDED =
  'Another agent began this task and reached a limit of its plan. What it changed is in this folder: look at it first.'
const EARLIER =
  'There was an attempt at this task before, in another conversation. What it changed is in this folder: look at it first.'
const MAX_PROMPT = 48_000

function checksText(checks: readonly string[]): string {
  if (checks.length === 0) return 'There is no check.'
  return `All of these have to exit with 0:\n${checks.map(check => `  ${check}`).join('\n')}\n`
}

function part(title: string, text: string, cap: number, keep: Keep = 'start'): string {
  const body = cut(text.trim(), cap, keep)
  return title === '' || body === '' ? '' : `## ${title}\n\n${body}`
}

type Keep = 'start' | 'end' | 'ends'

function cut(text: string, cap: number, keep: Keep): string {
  if (text.length <= cap) return text
  const left = `… ${text.length - cap} characters left out …`
  if (keep === 'start') return `${text.slice(0, cap)}\n${left}`
  if (keep === 'end') return `${left}\n${text.slice(-cap)}`
  return `${text.slice(0, cap / 4)}\n${left}\n${text.slice(-(cap * 3) / 4)}`
}
