/**
 * Calls each function once, at the end of this turn of the event loop, all in a row: their effects, such as writes to
 * one socket, are then combined. The functions must not throw.
 */
export function atEndOfLoopTurn(task: () => void): void {
  if (tasks.size === 0) setImmediate(run)
  tasks.add(task)
}

let tasks = new Set<() => void>()

function run(): void {
  const due = tasks
  tasks = new Set()
  for (const task of due) task()
}
