import { argumentOf } from '../panes/chat/tool-summary.logic.ts'
import { decisionLine } from '../panes/decisions/decision.logic.ts'
import { sessionTitle } from '../panes/sidebar/session-title.ts'
import type { FleetStore } from '../state/fleet-store.ts'
import type { SessionStatus } from '../state/server-api.ts'

/** A notification when a session needs an answer or ends, and only then; none for a page that is being looked at. */
export function notifyOn(fleet: FleetStore, open: (sessionId: string) => void): () => void {
  return fleet.onChange((now, before) => {
    const body = news(now, before)
    if (body === undefined || !mayNotify()) return
    show(sessionTitle(now), { body, tag: now.sessionId, icon: '/icon.svg' }, () => open(now.sessionId))
  })
}

function show(title: string, options: NotificationOptions, onClick: () => void): void {
  try {
    const notification = new Notification(title, options)
    notification.addEventListener('click', () => {
      window.focus()
      onClick()
      notification.close()
    })
  } catch {
    // Phones let only a service worker notify; there the title of the page has to do.
  }
}

/** What is worth one. Nothing about a session that was not known before: a page that has just loaded is no news. */
export function news(now: SessionStatus, before: SessionStatus | undefined): string | undefined {
  if (before === undefined) return undefined
  const asked = now.pending.find(
    ({ requestId }) => !before.pending.some(known => known.requestId === requestId),
  )
  if (asked) return decisionLine(asked, argumentOf(asked.input, now.projectRoot))
  const hasEnded = before.phase !== 'idle' && now.phase === 'idle' && now.queue.length === 0
  if (!hasEnded) return undefined
  return now.lastTurn === 'completed' ? 'is done' : `ended: ${now.lastTurn ?? 'stopped'}`
}

function mayNotify(): boolean {
  return typeof Notification !== 'undefined' && Notification.permission === 'granted' && !document.hasFocus()
}
