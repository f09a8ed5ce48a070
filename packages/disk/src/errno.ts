import { CodedError } from '@chirality/core'

/** The code of an error of the system, also of one that a CodedError of ours was made from. */
export function errnoOf(error: unknown): string | undefined {
  if (error instanceof CodedError) return errnoOf(error.cause)
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
