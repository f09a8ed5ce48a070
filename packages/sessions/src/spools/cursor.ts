import { StorageError } from '../files/storage-error.ts'
import type { SpoolPart } from './spool-parts.ts'

/** A part, and a byte in its spool. */
export interface Place {
  index: number
  offset: number
}

export function cursorAt({ spool }: SpoolPart, offset: number): string {
  return `${spool.slice(0, -ENDING.length)}.${offset}`
}

/** Which turn a byte belongs to can change: what an agent says between turns is its next turn's, once there is one. */
export function placeOf(parts: SpoolPart[], cursor: string): Place {
  const [, name, digits] = /^([A-Za-z0-9_-]{1,200})\.(\d{1,15})$/.exec(cursor) ?? []
  const offset = Number(digits)
  const index = parts.findLastIndex(({ spool, from }) => spool === `${name}${ENDING}` && from <= offset)
  if (index !== -1) return { index, offset }
  throw placeGone()
}

export function placeGone(): StorageError {
  return new StorageError('not-found', '', 'That place in the raw log is gone. Read it again from its end.')
}

const ENDING = '.ndjson'
