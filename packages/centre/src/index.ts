export { answer, follow } from './answer.ts'
export {
  type Answered,
  type AnyCall,
  type Call,
  type Caller,
  type CallPlace,
  type CallTree,
  type EachCall,
  type InputSchema,
  isCall,
  type ParsedInput,
  type StreamCall,
  type StreamCaller,
  type Yielded,
} from './call.ts'
export type { FleetEvent } from './calls/fleet.ts'
export type { ProjectInfo } from './calls/projects.ts'
export type { ExportPage } from './calls/sessions.ts'
export type { QueueState } from './calls/turns.ts'
export { CALLS, EVERY_CALL } from './calls.ts'
export type { Centre, Demo, Entrance } from './centre.ts'
export { checkAnswers, checked } from './checked.ts'
export { type CentreOptions, createCentre, type RunningCentre } from './create-centre.ts'
export {
  CALL_STATUS,
  type CallErrorCode,
  type CallStatus,
  callError,
  describeProblems,
  type OwnErrorCode,
  toCallError,
} from './errors.ts'
export { readProjectFile } from './files/read-file.ts'
export type { LoopChange } from './loops/loop-entries.ts'
export type { OwnRun, ProjectLoops } from './loops/project-loops.ts'
export type { ProjectSchedules, ScheduleChange } from './loops/project-schedules.ts'
export { searchMirrors, withMirrored } from './machines/mirrored.ts'
export { budgetKey } from './machines/repository-key.ts'
export {
  type FleetLocal,
  type FleetService,
  type FleetTurns,
  type Machine,
  type RemoteCall,
  type RemoteSession,
  remoteSessions,
} from './machines.ts'
export { type ProgramCall, type ProgramTool, type ToolHints, wordsOf } from './programs/program-tool.ts'
export { PROGRAM_TOOLS } from './programs/program-tools.ts'
export type { ProgramScope, Programs } from './programs/programs.ts'
export { ProjectRegistry, type RegisteredProject } from './projects/project-registry.ts'
export { encryptPush, type SubscriptionKeys } from './push/push-message.ts'
export type { PushDetail, PushService, PushSubscriptionInput } from './push/push-service.ts'
export type { ToldByWork } from './push/told-by-work.ts'
export { DefaultSession } from './sessions/default-session.ts'
export {
  type DiscardedOptions,
  DiscardedSessions,
  type RemovedSessions,
} from './sessions/discarded-sessions.ts'
export {
  eventBatches,
  JsonEvents,
  type Pace,
  type PacedReader,
  type ReadPace,
  type TurnStream,
  turnEvents,
} from './sessions/event-batches.ts'
export { type FollowedTurn, startFollowedTurn } from './sessions/followed-turn.ts'
export { exportedSession, isAtWork, withLog } from './sessions/live-session.ts'
export type { HarnessInfo } from './shapes/agents.ts'
export { errorCode } from './shapes/events.ts'
export type { FileContent } from './shapes/files.ts'
export {
  journalEntry,
  type LoopPlan,
  type LoopSummary,
  type LoopTaskDetails,
  type ShownLoop,
} from './shapes/loops.ts'
export type { ShownSchedule } from './shapes/schedules.ts'
export type { SignedInBrowser } from './shapes/sessions.ts'
export { BROWSER_ID, cursor, toolServerConfig } from './shapes/values.ts'
export type { AgentTrials, TryAgent } from './system/agent-trials.ts'
export { KeptNumbers } from './system/kept-numbers.ts'
export { RawLogKeeper } from './system/raw-log-keeper.ts'
export { type TracedTurn, tracedProcesses } from './system/session-processes.ts'
export { StoppedTurns, type TurnLeftovers } from './system/stopped-turns.ts'
export { listUserFiles, readUserFile, removeUserFile, writeUserFile } from './system/user-files.ts'
