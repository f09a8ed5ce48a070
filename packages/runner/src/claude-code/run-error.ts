import { type ClaudePermissionDenial, HarnessError, type HarnessErrorCode } from '@chirality/core'
import { HARNESS_ID } from './config.ts'

/** A run that brought no answer. What the agent printed all the same is in the raw log. */
export class ClaudeRunError extends HarnessError {
  readonly rawEventsPath: string
  readonly permissionDenials: ClaudePermissionDenial[]

  constructor(
    message: string,
    code: HarnessErrorCode,
    details: { rawEventsPath: string; permissionDenials: ClaudePermissionDenial[] },
  ) {
    const { rawEventsPath, permissionDenials } = details
    super(rawEventsPath ? `${message} The raw log is ${rawEventsPath}.` : message, code, HARNESS_ID)
    this.name = 'ClaudeRunError'
    this.rawEventsPath = rawEventsPath
    this.permissionDenials = permissionDenials
  }
}
