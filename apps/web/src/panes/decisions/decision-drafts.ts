import { useState } from 'react'

/** Unsent input by request: a card that scrolls out of the list is drawn anew when it comes back. */
const drafts = new Map<string, Map<string, unknown>>()
/** More than anybody writes at once. */
const MAX_REQUESTS = 100

/** Like `useState`, but it outlives the card, and the tray and the conversation share it. */
export function useDecisionDraft<T>(requestId: string, field: string, initial: T): [T, (value: T) => void] {
  const [value, setValue] = useState<T>(() => (drafts.get(requestId)?.get(field) as T | undefined) ?? initial)
  const set = (next: T) => {
    keep(requestId, field, next)
    setValue(next)
  }
  return [value, set]
}

export function dropDecisionDraft(requestId: string): void {
  drafts.delete(requestId)
}

function keep(requestId: string, field: string, value: unknown): void {
  const fields = drafts.get(requestId) ?? new Map<string, unknown>()
  drafts.delete(requestId)
  drafts.set(requestId, fields.set(field, value))
  for (const oldest of drafts.keys()) {
    if (drafts.size <= MAX_REQUESTS) break
    drafts.delete(oldest)
  }
}
