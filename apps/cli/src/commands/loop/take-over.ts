import type { CallOutputs } from '@chirality/client'
import { LoopBook, type LoopState } from '@chirality/loops'
import { type SessionHost, userDataFolder } from '@chirality/sessions'
import { EXIT, UsageError } from '../../exit-code.ts'
import { openHost } from '../../open-host.ts'
import { projectFolder } from '../../options.ts'
import type { Output } from '../../output.ts'
import { plain } from '../../render/style.ts'
import { serverOf } from '../../running-server.ts'

interface TakeOverValues {
  project?: string | undefined
  task?: string | undefined
  json?: boolean | undefined
}

type Acceptance = CallOutputs['loops']['accept']

/** Merges the loop's branch into the one that it began at: all of it, or up to a task. */
export async function accept([id]: string[], values: TakeOverValues, output: Output): Promise<number> {
  const project = await projectFolder(values.project)
  const book = new LoopBook(project, userDataFolder())
  const { loopId, baseBranch } = await book.get(id)
  const { task } = values
  const server = await serverOf(project)
  const made: Acceptance =
    server !== undefined
      ? await server.calls.loops.accept.mutate({ loopId, task })
      : await atRest(project, async host => {
          const { commit, tasks } = await book.accept(host, loopId, task)
          return { commit, into: baseBranch ?? '', tasks: tasks.map(one => one.task.id) }
        })
  const count = made.tasks.length === 1 ? '1 task' : `${made.tasks.length} tasks`
  const words = `${count} merged into ${made.into} at ${made.commit.slice(0, 10)}: ${made.tasks.join(', ')}`
  await output.write(values.json ? `${JSON.stringify(made)}\n` : plain(`${words}\n`))
  return EXIT.done
}

/** Takes the change of one task back from the loop's branch, and its tick from the list. */
export async function revert([id]: string[], values: TakeOverValues, output: Output): Promise<number> {
  const { task } = values
  if (task === undefined)
    throw new UsageError('Say which task to take back: --task T. "loop status" names them.')
  const project = await projectFolder(values.project)
  const book = new LoopBook(project, userDataFolder())
  const { loopId } = await book.get(id)
  const server = await serverOf(project)
  if (server !== undefined) await server.calls.loops.revert.mutate({ loopId, task })
  else await atRest(project, host => book.revert(host, loopId, task))
  const again = `Run it again: chirality loop resume ${loopId} --task ${task}`
  await output.write(
    values.json
      ? `${JSON.stringify({ loopId, task, reverted: true })}\n`
      : plain(`The change of ${task} is taken back from the loop's branch. ${again}\n`),
  )
  return EXIT.done
}

/** After a run: where the proved work is, and the command that merges it. */
export function takeOverWords({ branch, tasks, loopId }: LoopState): string {
  const isOpen = [...tasks.values()].some(
    ({ status, accepted }) => status === 'merged' && accepted === undefined,
  )
  if (!isOpen || branch === undefined) return ''
  return plain(`The work is on the branch ${branch}. Merge it: chirality loop accept ${loopId}\n`)
}

/** With the project open in this process: a loop that another process runs has it, and is not touched. */
async function atRest<T>(project: string, work: (host: SessionHost) => Promise<T>): Promise<T> {
  const host = await openHost('chirality loop')
  try {
    await host.worktrees.recover()
    await host.openProject(project)
    return await work(host)
  } finally {
    await host.close()
  }
}
