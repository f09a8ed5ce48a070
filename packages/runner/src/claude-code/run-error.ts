import {
  type ClaudePermissionDenial,
  HarnessError,
  type HarnessErrorCode,
  type HarnessId,
} from '@chirality/core'

/** A run that brought no answer. What the agent printed all the same is in the raw log. */
export class ClaudeRunError extends HarnessError {
  readonly rawEventsPath: string
  readonly permissionDenials: ClaudePermissionDenial[]

  constructor(
    message: string,
    code: HarnessErrorCode,
    details: { rawEventsPath: string; permissionDenials: ClaudePermissionDenial[]; harnessId: HarnessId },
  ) {
    const { rawEventsPath, permissionDenials, harnessId } = details
    super(rawEventsPath ? `${message} The raw log is ${rawEventsPath}.` : message, code, harnessId)
    this.name = 'ClaudeRunError'
    this.rawEventsPath = rawEventsPath
    this.permissionDenials = permissionDenials
  }
}
