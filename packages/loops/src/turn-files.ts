import { iterationFile, readLoopFile } from './files.ts'
import type { LoopContext } from './loop-context.ts'
import type { TaskState } from './loop-state.ts'
import { sha256 } from './machine-key.ts'

type Folder = Pick<LoopContext, 'folder' | 'noteAltered'>

/** What the agent is told in its turn. One that somebody changed is not used: then only the title of the task is. */
export async function readPrompt({ folder, noteAltered }: Folder, task: TaskState): Promise<string> {
  const name = iterationFile(task)
  const text = await readLoopFile(folder, 'prompts', name)
  const isOwn = text !== undefined && (task.prompt === undefined || sha256(text) === task.prompt)
  if (isOwn) return text
  noteAltered(`prompts/${name} was changed or removed before its agent got it`)
  return task.task.title
}

/** What the checks said last, for the next turn. The journal has the beginning of it. */
export async function readOutput(
  { folder, noteAltered }: Folder,
  task: TaskState,
): Promise<string | undefined> {
  const { failure } = task
  const name = iterationFile(task)
  const text = await readLoopFile(folder, 'outputs', name)
  if (failure === undefined || text?.startsWith(failure)) return failure === undefined ? undefined : text
  if (text !== undefined) noteAltered(`outputs/${name} was changed`)
  return failure
}
