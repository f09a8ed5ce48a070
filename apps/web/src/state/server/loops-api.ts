import type { AppRouter, CallInputs, CallOutputs } from '@chirality/server'
import type { TRPCClient } from '@trpc/client'

export type LoopSummary = CallOutputs['loops']['list'][number]
export type UnprovedTask = LoopSummary['unproved'][number]
type TaskFile = CallOutputs['loops']['files'][number]
export type ShownLoop = CallOutputs['loops']['get']
export type LoopPlan = CallOutputs['loops']['plan']
export type LoopTask = ShownLoop['tasks'][number]
export type LoopLimits = NonNullable<CallInputs['loops']['start']['limits']>
type LoopTaskDetails = CallOutputs['loops']['task']
export type ShownSchedule = CallOutputs['schedules']['list'][number]
export type ScheduleWithRuns = CallOutputs['schedules']['get']
export type ScheduleRun = ScheduleWithRuns['runs'][number]
export type NewSchedule = CallInputs['schedules']['add']
export type ScheduleTimes = NewSchedule['when']

/** The calls of the pages of loops and of schedules. The summaries of loops come with the fleet. */
export interface LoopsApi {
  taskFiles(project: string): Promise<TaskFile[]>
  /** What a loop on the list would do and run, and what keeps it from starting. */
  loopPlan(project: string, list: string): Promise<LoopPlan>
  loop(loopId: string): Promise<ShownLoop>
  loopTask(loopId: string, task: string): Promise<LoopTaskDetails>
  startLoop(input: CallInputs['loops']['start']): Promise<LoopSummary>
  /** Resolves when nothing of it runs any more. */
  stopLoop(loopId: string): Promise<LoopSummary>
  resumeLoop(input: CallInputs['loops']['resume']): Promise<LoopSummary>
  acceptLoop(loopId: string, task?: string): Promise<CallOutputs['loops']['accept']>
  revertTask(loopId: string, task: string): Promise<LoopSummary>
  schedules(): Promise<ShownSchedule[]>
  schedule(id: string): Promise<ScheduleWithRuns>
  /** When it would run, in words and as the next times. */
  previewTimes(when: ScheduleTimes): Promise<CallOutputs['schedules']['preview']>
  addSchedule(input: NewSchedule): Promise<ShownSchedule>
  changeSchedule(id: string, input: Omit<NewSchedule, 'project'>): Promise<ShownSchedule>
  pauseSchedule(id: string): Promise<ShownSchedule>
  resumeSchedule(id: string): Promise<ShownSchedule>
  runSchedule(id: string): Promise<ShownSchedule>
  removeSchedule(id: string): Promise<void>
}

export function loopCalls({ loops, schedules }: TRPCClient<AppRouter>): LoopsApi {
  return {
    taskFiles: project => loops.files.query({ project }),
    loopPlan: (project, list) => loops.plan.query({ project, list }),
    loop: loopId => loops.get.query({ loopId }),
    loopTask: (loopId, task) => loops.task.query({ loopId, task }),
    startLoop: input => loops.start.mutate(input),
    stopLoop: loopId => loops.stop.mutate({ loopId }),
    resumeLoop: input => loops.resume.mutate(input),
    acceptLoop: (loopId, task) => loops.accept.mutate({ loopId, ...(task === undefined ? {} : { task }) }),
    revertTask: (loopId, task) => loops.revert.mutate({ loopId, task }),
    schedules: () => schedules.list.query(),
    schedule: id => schedules.get.query({ id }),
    previewTimes: when => schedules.preview.query({ when }),
    addSchedule: input => schedules.add.mutate(input),
    changeSchedule: (id, input) => schedules.change.mutate({ id, ...input }),
    pauseSchedule: id => schedules.pause.mutate({ id }),
    resumeSchedule: id => schedules.resume.mutate({ id }),
    runSchedule: id => schedules.run.mutate({ id }),
    removeSchedule: async id => void (await schedules.remove.mutate({ id })),
  }
}
