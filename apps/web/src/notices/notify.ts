import type { FleetStore } from '../state/fleet/fleet-store.ts'
import { isOver, mayEndNotice, noticeOf } from './notice.logic.ts'
import { showNotice, withdrawNotices } from './notice-board.ts'
import { isSupported, notifyState } from './notify-setting.ts'
import { Gaze, isLookedAt, Speaker } from './tabs.ts'

export interface ShownSession {
  /** The session whose page this tab shows. */
  get(): string | undefined
  onChange(listener: () => void): () => void
}

/**
 * A notification when a session needs an answer or ends, and only then; none for a session that some tab looks at. It goes
 * when the session is looked at, or when what it says is over.
 */
export function notifyOn(fleet: FleetStore, shown: ShownSession): () => void {
  if (!isSupported()) return () => {}
  const speaker = new Speaker()
  const gaze = new Gaze()

  const onLook = () => {
    const sessionId = isWatched() ? shown.get() : undefined
    gaze.set(sessionId)
    if (sessionId !== undefined) void withdrawNotices(sessionId)
  }
  const stops = [
    fleet.onChange((now, before) => {
      const { sessionId } = now
      const notice = noticeOf(now, before)
      if (notice && speaker.speaks && notifyState() === 'on') {
        void showNotice(
          notice,
          async () => !(await isLookedAt(sessionId)) && !isOver(notice, fleet.get(sessionId)),
        )
      } else if (mayEndNotice(now, before)) {
        void withdrawNotices(sessionId, subject => isOver(subject, fleet.get(sessionId)))
      }
    }),
    fleet.onRemove(sessionId => void withdrawNotices(sessionId)),
    shown.onChange(onLook),
    listen(window, 'focus', onLook),
    listen(window, 'blur', onLook),
    listen(document, 'visibilitychange', onLook),
  ]
  onLook()
  return () => {
    for (const stop of stops) stop()
    speaker.stop()
    gaze.set(undefined)
  }
}

/** A window without the focus may well lie behind others: browsers do not always know. One notice too many is better than one too few. */
function isWatched(): boolean {
  return document.visibilityState === 'visible' && document.hasFocus()
}

function listen(target: EventTarget, type: string, listener: () => void): () => void {
  target.addEventListener(type, listener)
  return () => target.removeEventListener(type, listener)
}
