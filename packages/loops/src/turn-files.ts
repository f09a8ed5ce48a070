import { iterationFile, readLoopFile } from './files.ts'
import type { LoopContext } from './loop-context.ts'
import type { TaskState } from './loop-state.ts'
import { sha256 } from './machine-key.ts'

type Folder = Pick<LoopContext, 'folder' | 'noteAltered'>

/** The prompt of the agent's turn. If its file was changed, only the title of the task is used. */
export async function readTurnPrompt({ folder, noteAltered }: Folder, task: TaskState): Promise<string> {
  const name = iterationFile(task)
  const text = await readLoopFile(folder, 'prompts', name)
  const isOwn = text !== undefined && (task.prompt === undefined || sha256(text) === task.prompt)
  if (isOwn) return text
  noteAltered(`prompts/${name} was changed or removed before its agent got it`)
  return task.task.title
}

/** Output of the last checks, for the next turn. The journal has its start. */
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
