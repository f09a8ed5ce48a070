// A task list worked through unattended. Done is what the checks prove.

export { isAtRest } from './away-turn.ts'
export { type CheckRecord, type CheckResult, type RunningCommand, runCheck } from './checks.ts'
export { allCommandsOf, awaitedCommands, commandsOf, requireAwaited } from './commands.ts'
export { readIfThere } from './files.ts'
export {
  type DiffStat,
  type Flag,
  type FlagKind,
  type JournalEntry,
  type LoopEndReason,
  type ParkKind,
  readJournal,
  type Spent,
  type Stamped,
} from './journal.ts'
export type { Loop } from './loop.ts'
export {
  isOver,
  LoopBook,
  type ResumeOptions,
  requireAgain,
  type StartOptions,
} from './loop-book.ts'
export type { AwayEnd, AwayTurn, AwayTurns } from './loop-context.ts'
export { type LoopErrorCode, loopError } from './loop-error.ts'
export { isHarnessName, type LoopSettings } from './loop-settings.ts'
export {
  foldJournal,
  type HandOver,
  type LoopState,
  type TaskStage,
  type TaskState,
  type TaskStatus,
} from './loop-state.ts'
export { notAllowedWords } from './not-allowed-words.ts'
export { readOwnLoop } from './own-loop.ts'
export { type Receipt, readReceipt, type Verification, verifyReceipt } from './receipt.ts'
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
export { addSpent, spentOf } from './spent.ts'
export { parseTaskList, type Task, type TaskList, tickTasks } from './task-list.ts'
export { eventsAfter, lastText, questionIn, requestWords } from './turn-facts.ts'
