import { eventsAfter, lastText, questionIn, type RunOutcome, requestWords } from '@chirality/loops'
import type { LiveSession, SessionHost } from '@chirality/sessions'

interface PromptTurn {
  prompt: string
  /** Tools that it may use without asking. */
  allow: string[]
  answerMinutes: number
  timeoutMs: number
  /** Since the run was claimed. It counts only for a turn that had begun. */
  spentMs: number
}

interface TurnEnd {
  outcome: RunOutcome
  words: string
}

/** The only turn of a scheduled run, which is not begun twice. */
export async function promptTurn(
  host: Pick<SessionHost, 'onStatus'>,
  live: LiveSession,
  { prompt, allow, answerMinutes, timeoutMs, spentMs }: PromptTurn,
): Promise<TurnEnd> {
  const hasBegun = eventsAfter(live, 0).some(({ type }) => type === 'turn:start')
  let asked: string | undefined
  let awaited: string | undefined
  let timer: NodeJS.Timeout | undefined
  const watch = () => {
    const [request] = live.status.pending
    if (request?.requestId === awaited) return
    clearTimeout(timer)
    awaited = request?.requestId
    if (request === undefined) return
    timer = setTimeout(() => {
      asked = requestWords(request)
      live.interrupt()
    }, answerMinutes * 60_000)
  }
  const unwatch = host.onStatus(({ sessionId }) => {
    if (sessionId === live.id) watch()
  })
  let isLate = false
  // The host knows the limit of a turn that it started, but not of one that it found again.
  const lateMs = timeoutMs + LATE_MS - (hasBegun ? spentMs : 0)
  const late = setTimeout(
    () => {
      isLate = true
      live.interrupt()
    },
    Math.max(0, lateMs),
  )
  try {
    const allowed = allow.length === 0 ? {} : { autoApproveTools: allow }
    if (!hasBegun) await live.start(prompt, { timeoutMs, unattended: true, ...allowed })
    watch()
    await live.settled()
  } finally {
    unwatch()
    clearTimeout(timer)
    clearTimeout(late)
  }
  if (asked !== undefined) return { outcome: 'needs-you', words: asked }
  const end = endOf(live)
  return isLate && end.outcome === 'stopped' ? OUT_OF_TIME : end
}

/** The end of the only turn of a run, as the log says it. */
function endOf(live: LiveSession): TurnEnd {
  const events = eventsAfter(live, 0)
  const end = events.findLast(event => event.type === 'turn:end')
  const failed = events.findLast(event => event.type === 'session:error' && !event.recovered)
  const text = lastText(live, 0)
  switch (end?.type === 'turn:end' ? end.reason : 'crashed') {
    case 'completed': {
      const question = questionIn(text)
      return question === undefined
        ? { outcome: 'done', words: text }
        : { outcome: 'needs-you', words: question }
    }
    case 'max_turns':
    case 'budget':
      return { outcome: 'limit', words: 'A limit of the session is reached.' }
    case 'interrupted':
    case 'killed':
      return { outcome: 'stopped', words: 'Its turn was stopped.' }
    case 'timeout':
      return OUT_OF_TIME
    default:
      return {
        outcome: 'failed',
        words: failed?.type === 'session:error' ? failed.error : 'Its agent ended without an answer.',
      }
  }
}

const OUT_OF_TIME: TurnEnd = { outcome: 'limit', words: 'The time of the run is over.' }
const LATE_MS = 60_000
