import { visibleLine } from '@chirality/core'
import type { JournalEntry } from './journal.ts'
import { loopError } from './loop-error.ts'
import type { LoopState } from './loop-state.ts'
import type { OwnLoop } from './own-loop.ts'
import type { Task, TaskList } from './task-list.ts'

/** All commands that a loop on the list runs without asking, each once, in the order of the list. */
export function commandsByKind({ settings, tasks }: TaskList): { setup: string[]; checks: string[] } {
  const open = tasks.filter(({ ticked }) => !ticked)
  return { setup: settings.setup, checks: [...new Set(open.flatMap(({ checks }) => checks))] }
}

/** The same commands in one list, set-up first. */
export function allCommandsOf(list: TaskList): string[] {
  const { setup, checks } = commandsByKind(list)
  return [...new Set([...setup, ...checks])]
}

/**
 * The commands of a task that were not allowed for this loop. The list is a file of the project, so a pull, an agent or
 * an editor can change it while the loop runs.
 */
export function notAllowed({ allowed, settings }: LoopState, { checks }: Pick<Task, 'checks'>): string[] {
  return [...new Set([...settings.setup, ...checks])].filter(command => !allowed.has(command))
}

/** Commands that parked tasks of the loop wait for, each once. */
export function awaitedCommands({ tasks, allowed }: LoopState): string[] {
  const parked = [...tasks.values()].flatMap(({ commands = [] }) => commands)
  return [...new Set(parked)].filter(command => !allowed.has(command))
}

/**
 * True if the set-up has a command that is not allowed: no task can start, and one parked task asks for all. Otherwise
 * each of thousands of tasks would be parked with the whole set-up.
 */
export function isSetUpAwaited({ allowed, settings, tasks }: LoopState): boolean {
  if (settings.setup.every(command => allowed.has(command))) return false
  return [...tasks.values()].some(({ commands }) => commands !== undefined)
}

/**
 * Entries that make a state read from a journal allow exactly the commands of the user's data folder. The two differ
 * after a process was killed between the writes.
 */
export function corrections(
  { allowed }: LoopState,
  { allowed: own }: Pick<OwnLoop, 'allowed'>,
): JournalEntry[] {
  const known = new Set(own)
  const refused = [...allowed].filter(command => !known.has(command))
  const missing = [...known].filter(command => !allowed.has(command))
  return [
    ...(refused.length === 0 ? [] : [{ type: 'commands:refused' as const, commands: refused }]),
    ...(missing.length === 0 ? [] : [{ type: 'commands:allowed' as const, commands: missing }]),
  ]
}

/** Throws unless each command is, word for word, one that a parked task of the loop waits for. */
export function requireAwaited(state: LoopState, commands: readonly string[]): void {
  const awaited = awaitedCommands(state)
  const [other] = commands.filter(command => !awaited.includes(command) && !state.allowed.has(command))
  if (other === undefined) return
  const waits =
    awaited.length === 0 ? 'none' : awaited.map(command => `\`${visibleLine(command)}\``).join(', ')
  throw loopError(
    'loop-refused',
    `No parked task of the loop ${state.loopId} waits for the command \`${visibleLine(other)}\`. Waited for: ${waits}.`,
  )
}
