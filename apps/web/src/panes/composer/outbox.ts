import type { Client } from '@chirality/client'
import { useSyncExternalStore } from 'react'
import { type Comment, readComments, saveComments } from '../../state/kept/comments.ts'
import { type SentDraft, sendDraft } from '../../state/kept/drafts.ts'
import { type OutgoingMessage, type Sent, sendMessage } from '../../state/session/send-message.ts'
import { Listeners } from '../../ui/listeners.ts'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import type { Attachment } from './attachments.ts'
import { readAttached, saveAttached } from './attachments.ts'

export interface Outgoing {
  how: 'send' | 'steer'
  /** Text as the user wrote it. */
  text: string
  /** Draft kept until the message arrived. */
  kept: string
  attached: readonly Attachment[]
  comments: readonly Comment[]
  /** Message as it is sent. */
  message: OutgoingMessage
}

interface Entry extends Outgoing {
  draft: SentDraft
}

const NONE: readonly Entry[] = []
const waiting = new Map<string, readonly Entry[]>()
const listeners = new Listeners()

/** Messages the user sent that the server has not confirmed, oldest first. */
export function useOutbox(sessionId: string): readonly Outgoing[] {
  return useSyncExternalStore(listeners.subscribe, () => waiting.get(sessionId) ?? NONE)
}

/**
 * Takes a message out of the field at once, so that the next one can be written, and sends it when those before it are
 * there. What the server does not take comes back to the field, with all that was to follow it, before what was
 * written meanwhile. It does not matter whether the session is still in view then.
 */
export function putIntoOutbox(client: Client, sessionId: string, outgoing: Outgoing): void {
  const entry = { ...outgoing, draft: sendDraft(sessionId, outgoing.kept) }
  saveAttached(sessionId, without(readAttached(sessionId), outgoing.attached))
  saveComments(sessionId, without(readComments(sessionId), outgoing.comments))
  const before = waiting.get(sessionId) ?? NONE
  set(sessionId, [...before, entry])
  if (before.length === 0) void empty(client, sessionId)
}

async function empty(client: Client, sessionId: string): Promise<void> {
  for (;;) {
    const first = waiting.get(sessionId)?.[0]
    if (!first) return
    try {
      tell(await sendMessage(client, sessionId, first.message, first.how), first.how)
      first.draft.arrived()
      set(sessionId, (waiting.get(sessionId) ?? NONE).slice(1))
    } catch (error) {
      toasts.error(messageOf(error), sessionId)
      return takeBack(sessionId)
    }
  }
}

/** All that waits: what followed must not arrive alone. */
function takeBack(sessionId: string): void {
  const all = waiting.get(sessionId) ?? NONE
  set(sessionId, NONE)
  for (const { draft, text, attached, comments } of [...all].reverse()) {
    draft.comeBack(text)
    saveAttached(sessionId, [...attached, ...readAttached(sessionId)])
    saveComments(sessionId, [...comments, ...readComments(sessionId)])
  }
}

function tell(sent: Sent, how: Outgoing['how']): void {
  if (how === 'steer' && 'queued' in sent)
    toasts.info('The agent takes nothing while it works: it is next in the queue.')
}

function without<T extends { id: string }>(all: readonly T[], sent: readonly T[]): readonly T[] {
  return all.filter(({ id }) => !sent.some(one => one.id === id))
}

function set(sessionId: string, entries: readonly Entry[]): void {
  if (entries.length === 0) waiting.delete(sessionId)
  else waiting.set(sessionId, entries)
  listeners.tell()
}
