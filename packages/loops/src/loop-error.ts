import { CodedError } from '@chirality/core'

/** Codes of the errors of calls about loops. */
export type LoopErrorCode =
  /** The task list is unusable; the message names the line. */
  | 'bad-list'
  | 'loop-refused'
  | 'loop-missing'
  | 'loop-running'
  | 'bad-receipt'
  | 'schedule-refused'
  | 'schedule-missing'

export function loopError(code: LoopErrorCode, message: string, cause?: unknown): CodedError<LoopErrorCode> {
  return new CodedError(code, message, cause)
}

/** `line` is counted from 1. */
export function badList(name: string, line: number, message: string): CodedError<LoopErrorCode> {
  return loopError('bad-list', `${name}:${line}: ${message}`)
}
