import { CodedError } from '@chirality/core'

/** Codes of the errors of fleet calls. */
export type FleetErrorCode =
  /** This machine is in no fleet, or its files are damaged. */
  | 'fleet-not-set-up'
  | 'fleet-exists'
  | 'fleet-no-broker'
  | 'fleet-refused'
  /** The machine that has the session cannot be reached. Nothing was done. */
  | 'machine-away'
  /** The machine did not answer and may have done the call. The call is not repeated. */
  | 'machine-silent'
  /** A session was not moved and is still where it was. The message says why. */
  | 'move-failed'
  /** The piece of work belongs to another machine, or is over. */
  | 'work-stale'
  | 'work-failed'

export function fleetError(
  code: FleetErrorCode,
  message: string,
  cause?: unknown,
): CodedError<FleetErrorCode> {
  return new CodedError(code, message, cause)
}
