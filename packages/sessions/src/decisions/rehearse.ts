import type { Envelope, PermissionRequestEvent, PermissionResolvedEvent } from '@chirality/core'
import { StorageError } from '@chirality/disk'
import { readSessionLog } from '../log/read-log.ts'
import type { SessionStore } from '../store/session-store.ts'
import type { PolicyVerdict } from './ask-context.ts'
import { alwaysRule } from './policy/always-rule.ts'
import { judgeCall } from './policy/judge-call.ts'
import type { PolicyBook } from './policy/policy-book.ts'
import type { PolicySource } from './policy/policy-source.ts'
import { argumentText, describeCall } from './policy/tool-call.ts'
import { SESSION_RULE } from './session-memory.ts'

/** A past request: its outcome, and the decision of the current rules. */
export interface RehearsedRequest {
  sessionId: string
  at: string
  persona: string | null
  toolName: string
  /** The value that the rules match: a command, paths, an address … */
  argument: string
  /** The rule that "always" would have written, as it was shown. */
  always?: string
  was: PastAnswer
  wouldBe: PolicyVerdict
  /**
   * The outcome would differ: a person would be asked who was not, or the other way round, or the call would be denied
   * …
   */
  differs: boolean
}

export interface PastAnswer {
  /** `open`: there was no answer when the turn, or the log, ended. */
  outcome: PermissionResolvedEvent['outcome'] | 'open'
  by?: PermissionResolvedEvent['by']
  rule?: string
}

export interface RehearseOptions {
  store: SessionStore
  policies: PolicyBook
  /** Replaces the user's policy for the project. */
  edited?: PolicySource
  /** Called for a log that cannot be read, which is left out. If undefined, such a log ends the rehearsal. */
  onUnreadable?: (sessionId: string, error: unknown) => void
}

/** Checks every request in the logs of a project against the rules. Only reads, one batch of events at a time. */
export async function* rehearsePolicy(
  projectRoot: string,
  options: RehearseOptions,
): AsyncGenerator<RehearsedRequest> {
  const { store, policies, edited, onUnreadable } = options
  let cursor: string | undefined
  do {
    const page = await store.page({ projectRoot, ...(cursor === undefined ? {} : { cursor }) })
    for (const { id, persona } of page.sessions) {
      const sources = await policies.sources(projectRoot, persona)
      const judged =
        edited === undefined ? sources : sources.map(each => (each.kind === edited.kind ? edited : each))
      try {
        yield* rehearseSession({ projectRoot, id, persona, sources: judged })
      } catch (error) {
        if (onUnreadable === undefined || !(error instanceof StorageError)) throw error
        onUnreadable(id, error)
      }
    }
    cursor = page.nextCursor
  } while (cursor !== undefined)
}

interface PastSession {
  projectRoot: string
  id: string
  persona: string | null
  sources: PolicySource[]
}

type Unanswered = Omit<RehearsedRequest, 'was' | 'differs'>

async function* rehearseSession(session: PastSession): AsyncGenerator<RehearsedRequest> {
  const log = await readSessionLog(session.projectRoot, session.id)
  if (log === undefined) return
  // Judged as they are read: inputs can be large, and many requests can be open.
  const open = new Map<string, Unanswered>()
  try {
    for (let seq = 0; seq < log.lastSeq; ) {
      const batch = log.readAfter(seq, BATCH_EVENTS)
      for (const envelope of batch) yield* rehearseEvent(envelope, session, open)
      const last = batch.at(-1)
      if (last === undefined) break
      seq = last.seq
    }
    yield* closeAll(open)
  } finally {
    log.close()
  }
}

const BATCH_EVENTS = 500

function* rehearseEvent(
  { at, event }: Envelope,
  session: PastSession,
  open: Map<string, Unanswered>,
): Generator<RehearsedRequest> {
  if (event.type === 'permission:request') {
    open.set(event.requestId, judge(at, event, session))
  } else if (event.type === 'permission:resolved') {
    const request = open.get(event.requestId)
    open.delete(event.requestId)
    const { outcome, by, rule } = event
    if (request !== undefined)
      yield compared(request, { outcome, by, ...(rule === undefined ? {} : { rule }) })
  } else if (event.type === 'turn:end') {
    yield* closeAll(open)
  }
}

function judge(at: string, event: PermissionRequestEvent, session: PastSession): Unanswered {
  const call = describeCall(event, session)
  // Logs of older versions lack it; a request with a risk had none to show.
  const offered = event.always ?? (event.risks ? undefined : alwaysRule(event, session))
  const always = offered?.rule
  const argument = argumentText(call.argument)
  return {
    sessionId: session.id,
    at,
    persona: session.persona,
    toolName: event.toolName,
    argument: argument.length > MAX_SHOWN_CHARS ? `${argument.slice(0, MAX_SHOWN_CHARS)}…` : argument,
    ...(always === undefined ? {} : { always }),
    wouldBe: judgeCall(session.sources, event, call),
  }
}

const MAX_SHOWN_CHARS = 2000

function* closeAll(open: Map<string, Unanswered>): Generator<RehearsedRequest> {
  for (const request of open.values()) yield compared(request, { outcome: 'open' })
  open.clear()
}

function compared(request: Unanswered, was: PastAnswer): RehearsedRequest {
  return { ...request, was, differs: effectOf(was) !== request.wouldBe.effect }
}

/** The decision of the rules at that time. Without a rule of a file, a person or an earlier answer decided. */
function effectOf({ outcome, by, rule }: PastAnswer): PolicyVerdict['effect'] {
  if (by !== 'policy' || rule === undefined || rule.startsWith(SESSION_RULE)) return 'ask'
  return outcome === 'allowed' ? 'allow' : 'deny'
}
