/**
 * Calls each of these once, at the end of this turn of the event loop, all in one go: what follows from one of them, such as a
 * batch that goes to a socket, then comes together with what follows from the others. They must not throw.
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
