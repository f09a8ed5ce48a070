export { answer, follow } from './answer.ts'
export {
  type Answered,
  type AnyCall,
  type Call,
  type CallTree,
  type EachCall,
  type InputSchema,
  isCall,
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
export { CALL_STATUS, type CallErrorCode, callError, describeProblems, toCallError } from './errors.ts'
export { readProjectFile } from './files/read-file.ts'
export { searchMirrors, withMirrored } from './machines/mirrored.ts'
export { budgetKey } from './machines/repository-key.ts'
export {
  type FleetLocal,
  type FleetService,
  type RemoteCall,
  type RemoteSession,
  remoteSessions,
} from './machines.ts'
export { type ProgramCall, wordsOf } from './programs/program-tool.ts'
export { PROGRAM_TOOLS } from './programs/program-tools.ts'
export type { ProgramScope } from './programs/programs.ts'
export { ProjectRegistry } from './projects/project-registry.ts'
export { encryptPush } from './push/push-message.ts'
export { DefaultSession } from './sessions/default-session.ts'
export { DiscardedSessions } from './sessions/discarded-sessions.ts'
export { eventBatches, JsonEvents, turnEvents } from './sessions/event-batches.ts'
export { startFollowedTurn } from './sessions/followed-turn.ts'
export { exportedSession, isAtWork, withLog } from './sessions/live-session.ts'
export type { HarnessInfo } from './shapes/agents.ts'
export { errorCode } from './shapes/events.ts'
export { journalEntry, type LoopSummary } from './shapes/loops.ts'
export type { SignedInBrowser } from './shapes/sessions.ts'
export { BROWSER_ID, cursor, toolServerConfig } from './shapes/values.ts'
export { KeptNumbers } from './system/kept-numbers.ts'
export { RawLogKeeper } from './system/raw-log-keeper.ts'
export { tracedProcesses } from './system/session-processes.ts'
export { StoppedTurns } from './system/stopped-turns.ts'
export { listUserFiles, readUserFile, removeUserFile, writeUserFile } from './system/user-files.ts'
