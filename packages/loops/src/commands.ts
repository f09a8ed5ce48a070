import { visibleLine } from '@chirality/core'
import type { LoopState } from './loop-state.ts'
import type { Task, TaskList } from './task-list.ts'

/** Everything that a loop on the list runs without asking, each once, in the order of the list. */
export function commandsOf({ settings, tasks }: TaskList): { setup: string[]; checks: string[] } {
  const open = tasks.filter(({ ticked }) => !ticked)
  return { setup: settings.setup, checks: [...new Set(open.flatMap(({ checks }) => checks))] }
}

/** All of them, set-up first. */
export function allCommandsOf(list: TaskList): string[] {
  const { setup, checks } = commandsOf(list)
  return [...new Set([...setup, ...checks])]
}

/**
 * The commands of a task that nobody allowed for this loop. The list is a file of the project: a pull, an agent or an
 * editor can change it while the loop runs.
 */
export function notAllowed({ allowed, settings }: LoopState, { checks }: Pick<Task, 'checks'>): string[] {
  return [...new Set([...settings.setup, ...checks])].filter(command => !allowed.has(command))
}

/** Why a task with such commands waits for a person. */
export function notAllowedWords(commands: readonly string[]): string {
  const which = commands.length === 1 ? 'a command' : `${commands.length} commands`
  const words = `It runs ${which} that nobody allowed for this loop: ${commands.map(one => `\`${visibleLine(one)}\``).join(', ')}`
  return words.slice(0, MAX_WORDS)
}

const MAX_WORDS = 2_000

/** The commands that parked tasks of the loop wait for, each once. */
export function awaitedCommands({ tasks, allowed }: LoopState): string[] {
  const parked = [...tasks.values()].flatMap(({ commands = [] }) => commands)
  return [...new Set(parked)].filter(command => !allowed.has(command))
}
