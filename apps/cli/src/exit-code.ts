import type { SessionErrorCode, TurnEndReason } from '@chirality/core'

/** The exit codes that scripts rely on. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  notInstalled: 3,
  notLoggedIn: 4,
  limit: 5,
  /** Nothing is wrong, and not all of it could be checked. */
  notAllChecked: 6,
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** For a turn that ran: how it ended, and the last error it showed. */
export function exitCodeOfTurn(reason: TurnEndReason, error: SessionErrorCode | null): ExitCode {
  switch (reason) {
    case 'completed':
      return EXIT.done
    case 'interrupted':
    case 'killed':
      return EXIT.interrupted
    case 'max_turns':
    case 'budget':
      return EXIT.limit
    default:
      return error === 'auth_failed' ? EXIT.notLoggedIn : EXIT.failed
  }
}

/** For a turn that could not start. */
export function exitCodeOfError(error: { code: string }): ExitCode {
  switch (error.code) {
    case 'not_installed':
      return EXIT.notInstalled
    case 'auth_failed':
      return EXIT.notLoggedIn
    case 'invalid_query':
    case 'unsupported':
      return EXIT.usage
    case 'aborted':
      return EXIT.interrupted
    default:
      return EXIT.failed
  }
}

/** The command was called wrongly. Its message is shown with a reference to the help, and the exit code is 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}
