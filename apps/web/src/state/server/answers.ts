// Names for what calls take and answer. Every type is derived from the server's own: none is written a second time here.
import type { CallInputs, CallOutputs, FleetEvent } from '@chirality/client'

type FleetSession = Extract<FleetEvent, { type: 'snapshot' }>['sessions'][number]
export type QueuedMessage = Pick<FleetSession['queue'][number], 'id' | 'message'>

/** A session as the server keeps it, without the fields that no pane shows. */
export type SessionStatus = Omit<FleetSession, 'condition' | 'workedMs' | 'queue' | 'steered'> & {
  queue: QueuedMessage[]
  /** Given to the turn that runs, and not taken by its agent yet. */
  steered: QueuedMessage[]
  /** Set while this is the session of a task that is not proved: the proof of the task counts then, not the last turn. */
  task?: LoopTaskState
}

export type LoopTaskState = UnprovedTask & {
  loopId: string
  /** File of the task list. */
  list: string
  project: string
  isLoopAtWork: boolean
}

export type SessionSettings = Partial<CallOutputs['sessions']['get']['settings']>
export type SearchHit = CallOutputs['sessions']['search']['hits'][number]
export type UsageReport = CallOutputs['sessions']['usage']
export type NativeSession = CallOutputs['sessions']['native']['sessions'][number]
export type NativePage = CallOutputs['sessions']['nativeLines']
export type NativeLine = NativePage['lines'][number]
export type SessionProcess = CallOutputs['system']['processes'][number]['processes'][number]

export type ServerInfo = Pick<CallOutputs['system']['info'], 'version' | 'demo'>
export type SignedInBrowser = Omit<CallOutputs['system']['browsers'][number], 'addedAt'>
export type SignInLink = CallOutputs['system']['newSignInLink']
export type PushDetail = CallInputs['system']['subscribePush']['show']
export type HarnessInfo = CallOutputs['harnesses']['list'][number]
export type AgentTrials = CallOutputs['harnesses']['trials']
export type PersonaDraft = CallOutputs['personas']['check']
export type RuleFile = CallOutputs['rules']['list'][number]
export type ToolServerSource = CallOutputs['toolServers']['list'][number]
export type ToolServer = ToolServerSource['servers'][number]
/** Files of a project that its agents would run. */
export type ProjectSettingsInfo = CallOutputs['trust']['get']
export type Budget = CallOutputs['budgets']['get']
export type ProjectBudgetChange = Omit<CallInputs['budgets']['set'], 'project'>
export type DataUse = CallOutputs['data']['use']
export type Machine = CallOutputs['fleet']['machines'][number]
export type FleetInfo = NonNullable<CallOutputs['fleet']['info']>
export type Placement = NonNullable<CallOutputs['fleet']['place']>

export type TreeDiff = NonNullable<CallOutputs['files']['diff']>
export type ReviewState = NonNullable<CallOutputs['review']['state']>
export type FileOfTree = CallOutputs['review']['file']

export type LoopSummary = CallOutputs['loops']['list'][number]
type UnprovedTask = LoopSummary['unproved'][number]
export type ShownLoop = CallOutputs['loops']['get']
export type LoopPlan = CallOutputs['loops']['plan']
export type LoopTask = ShownLoop['tasks'][number]
export type ShownSchedule = CallOutputs['schedules']['list'][number]
export type ScheduleWithRuns = CallOutputs['schedules']['get']
export type ScheduleRun = ScheduleWithRuns['runs'][number]
export type NewSchedule = CallInputs['schedules']['add']
