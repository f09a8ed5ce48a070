import { BoundedMap } from './bounded-map.ts'

const MAX_DRAFTS = 50
const MAX_DRAFT_CHARS = 20_000

const drafts = new BoundedMap<string>('chirality-drafts', MAX_DRAFTS)

/** What was written and not sent, by session. */
export function readDraft(sessionId: string): string {
  return drafts.get(sessionId) ?? ''
}

export function saveDraft(sessionId: string, text: string): void {
  if (text === '') drafts.delete(sessionId)
  else drafts.set(sessionId, text.slice(0, MAX_DRAFT_CHARS))
}
