/** Needs of the tasks, which the workers fulfil. */
export const AGENT = 'process'
export const LABEL = 'build'
export const PROJECT = '/shop'
/** The names of all tasks begin with it. */
export const GROUP = 'task'

/** `cut`: the task was ended with its machine, which is back. `lost`: its machine did not come back in time. */
export type End = 'done' | 'cut' | 'lost'

export interface TaskList {
  tasks: { id: string; ms: number }[]
  goneMs?: number
}
