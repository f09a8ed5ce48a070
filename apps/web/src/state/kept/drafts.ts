import { useSyncExternalStore } from 'react'
import { Listeners } from '../../ui/listeners.ts'
import { BoundedMap } from './bounded-map.ts'

const MAX_DRAFTS = 50
/** Limit of what is kept for the next visit. An open page keeps all of it. */
const MAX_STORED_CHARS = 100_000

const stored = new BoundedMap<string>('chirality-drafts', MAX_DRAFTS)
const written = new Map<string, string>()
/** Left the field, but the server does not have it yet: a page that is closed now must still find it. */
const underWay = new Map<string, readonly string[]>()
const listeners = new Listeners()

/** Unsent text of a session. */
export function useDraft(sessionId: string): string {
  return useSyncExternalStore(listeners.subscribe, () => readDraft(sessionId))
}

export function readDraft(sessionId: string): string {
  return written.get(sessionId) ?? stored.get(sessionId) ?? ''
}

export function saveDraft(sessionId: string, text: string): void {
  written.set(sessionId, text)
  store(sessionId)
  listeners.tell()
}

/** Before what was written meanwhile. */
export function addToDraft(sessionId: string, text: string): void {
  saveDraft(sessionId, joined([text, readDraft(sessionId)]))
}

/** Text that leaves the field. It is kept until it arrived, and can come back. */
export interface SentDraft {
  arrived(): void
  comeBack(text: string): void
}

export function sendDraft(sessionId: string, text: string): SentDraft {
  underWay.set(sessionId, [...(underWay.get(sessionId) ?? []), text])
  saveDraft(sessionId, '')
  const forget = () => {
    const all = underWay.get(sessionId) ?? []
    const at = all.indexOf(text)
    underWay.set(
      sessionId,
      all.filter((_, index) => index !== at),
    )
  }
  return {
    arrived() {
      forget()
      store(sessionId)
    },
    comeBack(again) {
      forget()
      addToDraft(sessionId, again)
    },
  }
}

function store(sessionId: string): void {
  const text = joined([...(underWay.get(sessionId) ?? []), readDraft(sessionId)])
  if (text === '') stored.delete(sessionId)
  else stored.set(sessionId, text.slice(0, MAX_STORED_CHARS))
}

function joined(texts: readonly string[]): string {
  return texts.filter(text => text !== '').join('\n\n')
}
