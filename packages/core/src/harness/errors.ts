import { CodedError } from '../coded-error.ts'
import type { HarnessId } from '../session/session.ts'
import type { HarnessErrorCode } from './harness.ts'

/** Something is wrong before a turn can start. What goes wrong during a turn is an event, not an exception. */
export class HarnessError extends CodedError<HarnessErrorCode> {
  readonly harnessId: HarnessId

  constructor(message: string, code: HarnessErrorCode, harnessId: HarnessId, cause?: unknown) {
    super(code, message, cause)
    this.name = 'HarnessError'
    this.harnessId = harnessId
  }
}

export class HarnessNotInstalledError extends HarnessError {
  readonly instructions?: string

  constructor(harnessId: HarnessId, instructions?: string) {
    super(
      `${harnessId} is not installed${instructions ? `. ${instructions}` : ''}`,
      'not_installed',
      harnessId,
    )
    this.name = 'HarnessNotInstalledError'
    this.instructions = instructions
  }
}

export class HarnessAuthError extends HarnessError {
  readonly authInstructions: string

  constructor(harnessId: HarnessId, authInstructions: string) {
    super(`${harnessId} is not authenticated. ${authInstructions}`, 'auth_failed', harnessId)
    this.name = 'HarnessAuthError'
    this.authInstructions = authInstructions
  }
}

/** The session already has a running turn. */
export class HarnessBusyError extends HarnessError {
  constructor(harnessId: HarnessId, sessionId: string) {
    super(
      `Session ${sessionId} already has a turn running; interrupt it or wait until it ends.`,
      'busy',
      harnessId,
    )
    this.name = 'HarnessBusyError'
  }
}
