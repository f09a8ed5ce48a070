import type { Envelope } from '@chirality/core'
import type { LiveSession, SessionHost, StoredSession } from '@chirality/sessions'
import type { RunRequest } from './request.ts'
import type { SessionChoice } from './session-choice.ts'

/** The turn in this process. */
export function startHere(host: SessionHost, { session, prompt, turn, budget }: RunRequest): StartTurn {
  return async wasStopped => {
    const { live, newSessionId, discard } = await openSession(host, session)
    if (wasStopped()) {
      await discard()
      return undefined
    }
    const from = live.log.lastSeq
    try {
      if (budget !== undefined) await live.setBudget(budget)
      await live.start(prompt, { ...turn, newSessionId })
    } catch (error) {
      await discard()
      throw error
    }
    return {
      envelopes: untilSettled(live, from),
      interrupt: () => live.interrupt(),
      kill: () => void live.kill(),
    }
  }
}

/** The log's events after `seq`, up to the last one of the turn. */
async function* untilSettled(live: LiveSession, seq: number): AsyncGenerator<Envelope> {
  const { log } = live
  const batches = log.subscribe(seq)
  let cursor = seq
  void live.settled().then(() => batches.return?.())
  for await (const batch of batches) {
    for (const envelope of batch) yield envelope
    cursor = batch.at(-1)?.seq ?? cursor
  }
  // A slow reader may be behind when the turn is over.
  for (
    let rest = log.readAfter(cursor, REST_EVENTS);
    rest.length > 0;
    rest = log.readAfter(cursor, REST_EVENTS)
  ) {
    for (const envelope of rest) yield envelope
    cursor = rest.at(-1)?.seq ?? cursor
  }
}

const REST_EVENTS = 500

/** A started turn, in this process or in a server. */
export interface RunningTurn {
  /** Up to its last event. */
  envelopes: AsyncIterable<Envelope>
  interrupt(): void
  kill(): void
}

/** Undefined if it was stopped before it could begin. */
export type StartTurn = (wasStopped: () => boolean) => Promise<RunningTurn | undefined>

export interface OpenedSession {
  live: LiveSession
  /** The requested id for the agent's new conversation. */
  newSessionId: string | undefined
  /** Deletes a session that never began. */
  discard(): Promise<void>
}

/** The session of the turn, created if needed. */
export async function openSession(host: SessionHost, choice: SessionChoice): Promise<OpenedSession> {
  const stored = choice.stored ?? (await begin(host, choice))
  const live = await host.session(stored.id)
  const isFresh = stored.claudeSessionId === null && stored.forkedFrom === null
  return {
    live,
    // The session's own id, so that one id finds both the session and the agent's conversation.
    newSessionId: isFresh || choice.nativeSessionId !== null ? stored.id : undefined,
    discard: async () => {
      if (choice.stored === undefined) await host.deleteSession(stored.id)
    },
  }
}

async function begin(host: SessionHost, choice: SessionChoice): Promise<StoredSession> {
  const { projectRoot, persona, mode, harness, model, worktree, nativeSessionId } = choice
  const session = await host.createSession(projectRoot, {
    ...{ persona, mode, harness, model },
    ...(worktree === undefined ? {} : { worktree }),
  })
  if (nativeSessionId === null) return session
  return host.store.update(session.id, { claudeSessionId: nativeSessionId })
}
