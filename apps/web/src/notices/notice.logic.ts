import type { SessionStatus } from '../state/server/answers.ts'
import { decisionLine } from '../words/decision.logic.ts'
import { sessionTitle } from '../words/session-title.ts'
import { requestArgument } from '../words/tool-summary.logic.ts'

/** Texts of a notification. A session has one at most: a newer one replaces it. */
export type Notice = NoticeSubject & {
  title: string
  body: string
}

/** Subject of a notification, kept with it, so that every tab can tell when it is no longer true. */
export type NoticeSubject =
  | { kind: 'asks'; sessionId: string; requestId: string }
  | { kind: 'ended'; sessionId: string }

/** Only these two: it needs an answer, or it ended. A session that was not known before is no news: the page has just loaded. */
export function noticeOf(now: SessionStatus, before: SessionStatus | undefined): Notice | undefined {
  if (before === undefined) return undefined
  const { sessionId } = now
  const title = sessionTitle(now)
  const asked = now.pending.find(
    ({ requestId }) => !before.pending.some(known => known.requestId === requestId),
  )
  if (asked) {
    const body = cut(decisionLine(asked, requestArgument(asked, now.projectRoot)))
    return { kind: 'asks', sessionId, requestId: asked.requestId, title, body }
  }
  const hasEnded = before.phase !== 'idle' && now.phase === 'idle' && now.queue.length === 0
  if (!hasEnded) return undefined
  const isCompleted = now.lastTurn === 'completed'
  const unanswered = `${isCompleted ? 'went on' : 'stopped'} without your answer`
  const ended = isCompleted ? 'is done' : `ended: ${now.lastTurn ?? 'stopped'}`
  const body = now.leftUnanswered ? unanswered : ended
  return { kind: 'ended', sessionId, title, body }
}

/** Answered elsewhere, at work again, or gone. */
export function isOver(subject: NoticeSubject, now: SessionStatus | undefined): boolean {
  if (now === undefined) return true
  if (subject.kind === 'ended') return now.phase !== 'idle'
  return !now.pending.some(({ requestId }) => requestId === subject.requestId)
}

/** Whether a change may have ended a notice: asking for those that are shown at every change would be too often. */
export function mayEndNotice(now: SessionStatus, before: SessionStatus | undefined): boolean {
  if (before === undefined) return false
  return (
    (before.phase === 'idle' && now.phase !== 'idle') || before.pending.some(request => !has(now, request))
  )
}

function has({ pending }: SessionStatus, { requestId }: { requestId: string }): boolean {
  return pending.some(known => known.requestId === requestId)
}

export function subjectOf(data: unknown): NoticeSubject | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  const { kind, sessionId, requestId } = data as Record<string, unknown>
  if (typeof sessionId !== 'string') return undefined
  if (kind === 'ended') return { kind, sessionId }
  return kind === 'asks' && typeof requestId === 'string' ? { kind, sessionId, requestId } : undefined
}

const MAX_CHARS = 200

function cut(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text
}
