import { useSyncExternalStore } from 'react'
import { Listeners } from '../../ui/listeners.ts'
import type { Attachment } from './attachments.ts'

const NONE: readonly Attachment[] = []
const attached = new Map<string, readonly Attachment[]>()
const listeners = new Listeners()

/** Files for the next message of a session. A look at another one does not drop them; closing the page does. */
export function useAttached(sessionId: string): readonly Attachment[] {
  return useSyncExternalStore(listeners.subscribe, () => readAttached(sessionId))
}

export function readAttached(sessionId: string): readonly Attachment[] {
  return attached.get(sessionId) ?? NONE
}

export function saveAttached(sessionId: string, list: readonly Attachment[]): void {
  if (list.length === 0) attached.delete(sessionId)
  else attached.set(sessionId, list)
  listeners.tell()
}
