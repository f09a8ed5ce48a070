import type { HitKind } from './searchable-text.ts'

export interface SearchHit {
  projectRoot: string
  sessionId: string
  title: string | null
  seq: number
  at: string
  turnId: string | null
  kind: HitKind
  /** One line around the first match. */
  snippet: string
  /** Where in the snippet the words are. */
  ranges: [start: number, end: number][]
}
