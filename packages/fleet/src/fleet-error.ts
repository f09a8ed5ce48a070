import { CodedError } from '@chirality/core'

/** What a fleet call can fail with. */
export type FleetErrorCode =
  /** This machine is in no fleet, or its files are damaged. */
  | 'fleet-not-set-up'
  | 'fleet-exists'
  | 'fleet-no-broker'
  | 'fleet-refused'
  /** The machine that has the session does not answer. Nothing was done. */
  | 'machine-away'
  /** The machine took the call, perhaps, and did not answer. It is not repeated. */
  | 'machine-silent'
  /** A session was not moved, and the machine that had it still has it. The message says why. */
  | 'move-failed'
  /** A piece of work is another machine's, or over. */
  | 'work-stale'
  | 'work-failed'

export function fleetError(
  code: FleetErrorCode,
  message: string,
  cause?: unknown,
): CodedError<FleetErrorCode> {
  return new CodedError(code, message, cause)
}
