import type { AppRouter, CallInputs, CallOutputs } from '@chirality/server'
import type { TRPCClient } from '@trpc/client'

export type LoopSummary = CallOutputs['loops']['list'][number]
type TaskFile = CallOutputs['loops']['files'][number]
export type ShownLoop = CallOutputs['loops']['get']
export type LoopTask = ShownLoop['tasks'][number]
export type LoopLimits = NonNullable<CallInputs['loops']['start']['limits']>
type LoopTaskDetails = CallOutputs['loops']['task']

/** The calls of the page of loops. Their summaries come with the fleet. */
export interface LoopsApi {
  taskFiles(project: string): Promise<TaskFile[]>
  loop(loopId: string): Promise<ShownLoop>
  loopTask(loopId: string, task: string): Promise<LoopTaskDetails>
  startLoop(input: CallInputs['loops']['start']): Promise<LoopSummary>
  /** Resolves when nothing of it runs any more. */
  stopLoop(loopId: string): Promise<LoopSummary>
  resumeLoop(input: CallInputs['loops']['resume']): Promise<LoopSummary>
  acceptLoop(loopId: string, task?: string): Promise<CallOutputs['loops']['accept']>
  revertTask(loopId: string, task: string): Promise<LoopSummary>
}

export function loopCalls({ loops }: TRPCClient<AppRouter>): LoopsApi {
  return {
    taskFiles: project => loops.files.query({ project }),
    loop: loopId => loops.get.query({ loopId }),
    loopTask: (loopId, task) => loops.task.query({ loopId, task }),
    startLoop: input => loops.start.mutate(input),
    stopLoop: loopId => loops.stop.mutate({ loopId }),
    resumeLoop: input => loops.resume.mutate(input),
    acceptLoop: (loopId, task) => loops.accept.mutate({ loopId, ...(task === undefined ? {} : { task }) }),
    revertTask: (loopId, task) => loops.revert.mutate({ loopId, task }),
  }
}
