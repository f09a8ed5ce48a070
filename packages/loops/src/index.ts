// Works through a task list unattended. A task is done when its checks prove it.

export { isAtRest } from './away-turn.ts'
export type { ChainLink } from './chain.ts'
export { type CheckRecord, type CheckResult, type RunningCommand, runCheck } from './checks.ts'
export { allCommandsOf, awaitedCommands, commandsByKind, requireAwaited } from './commands.ts'
export {
  limitsSpending,
  readDefaultBudget,
  STATED_BUDGET_USD,
  withBudget,
  writeDefaultBudget,
} from './default-budget.ts'
export { readLoopFile, readNamedFile } from './files.ts'
export type {
  DiffStat,
  FreshStart,
  JournalEntry,
  LoopEndReason,
  LoopRunner,
  ParkedStart,
  ParkKind,
  PlanLimit,
  Spending,
  Stamped,
  TaskStart,
  TurnError,
} from './journal.ts'
export type { Journal } from './journal-file.ts'
export { claimedIn } from './live-list.ts'
export type { Loop } from './loop.ts'
export { LoopBook, type LoopStart, type ResumeOptions } from './loop-book.ts'
export type { AwayEnd, AwayTurn, AwayTurns } from './loop-context.ts'
export { type LoopErrorCode, loopError } from './loop-error.ts'
export { isOver, requireAgain } from './loop-rules.ts'
export { isHarnessName, type LoopSettings } from './loop-settings.ts'
export {
  foldJournal,
  type HandOver,
  type ListChangeKind,
  type LoopState,
  notAllowedWords,
  type TaskStage,
  type TaskState,
  type TaskStatus,
} from './loop-state.ts'
export { LoopStore } from './loop-store.ts'
export type { Seal, Sealed } from './machine-key.ts'
export type { OwnLoop } from './own-loop.ts'
export { readOwnLoop, writeOwnLoop } from './own-loop.ts'
export type { ProjectCopy } from './project-copy.ts'
export { firstBase } from './proof/base-checks.ts'
export {
  type BaseResult,
  type CheckCount,
  type Flag,
  type FlagKind,
  flagsOf,
  type Judgeable,
  type Judged,
  type Mutants,
  type Proof,
  type RedGreen,
  type RunCounts,
  type TestCounts,
  type Verdict,
  verdictCounts,
  verdictOf,
} from './proof/verdict.ts'
export type { ReadJournal, UnreadableLine } from './read-journal.ts'
export { type Receipt, readLoopReceipt, readReceipt, receiptText } from './receipt.ts'
export { lastFailure, tasksToGo } from './report.ts'
export type { DueWork, LoopSpent, RunReason } from './schedule.ts'
export {
  dueWork,
  NEW_SCHEDULE,
  type NewSchedule,
  nextTime,
  nextTimes,
  type RunOutcome,
  type RunReceipt,
  SCHEDULE_TIMES,
  type Schedule,
  type ScheduleRun,
  type ScheduleState,
  type ScheduleTimes,
  timesAfter,
} from './schedule.ts'
export { ScheduleBook } from './schedule-book.ts'
export { timesInWords } from './schedule-words.ts'
export type { SpendingTask } from './spent.ts'
export { addSpent, spentOf } from './spent.ts'
export { hasBox } from './task-items.ts'
export { parseTaskList, type Task, type TaskList, tickTasks } from './task-list.ts'
export { eventsAfter, lastText, questionIn, requestWords } from './turn-facts.ts'
export { verifyTask } from './verify.ts'
export type { Finding, Verification, VerifyOptions } from './verify-facts.ts'
export { warningsOf } from './warnings.ts'
