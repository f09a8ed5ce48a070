import { useSyncExternalStore } from 'react'
import type { Attachment } from './attachments.ts'

const NONE: readonly Attachment[] = []
const attached = new Map<string, readonly Attachment[]>()
const listeners = new Set<() => void>()

/** Files for the next message of a session. A look at another one does not drop them; closing the page does. */
export function useAttached(sessionId: string): readonly Attachment[] {
  return useSyncExternalStore(subscribe, () => readAttached(sessionId))
}

export function readAttached(sessionId: string): readonly Attachment[] {
  return attached.get(sessionId) ?? NONE
}

export function saveAttached(sessionId: string, list: readonly Attachment[]): void {
  if (list.length === 0) attached.delete(sessionId)
  else attached.set(sessionId, list)
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
