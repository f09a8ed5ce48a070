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

/** What comes into the log after `seq`, to the last word of the turn. */
async function* untilSettled(live: LiveSession, seq: number): AsyncGenerator<Envelope> {
  const { log } = live
  const batches = log.subscribe(seq)
  let cursor = seq
  void live.settled().then(() => batches.return?.())
  for await (const batch of batches) {
    for (const envelope of batch) yield envelope
    cursor = batch.at(-1)?.seq ?? cursor
  }
  // A slow reader of ours may be behind when the turn is over.
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

/** A turn that was started, wherever it runs. */
export interface RunningTurn {
  /** To its last word. */
  envelopes: AsyncIterable<Envelope>
  interrupt(): void
  kill(): void
}

/** Undefined when it was stopped before it could begin. */
export type StartTurn = (wasStopped: () => boolean) => Promise<RunningTurn | undefined>

export interface OpenedSession {
  live: LiveSession
  /** The id to ask the agent for, when it begins a conversation. */
  newSessionId: string | undefined
  /** Takes back a session that never began. */
  discard(): Promise<void>
}

/** The session of the turn, made if need be. */
export async function openSession(host: SessionHost, choice: SessionChoice): Promise<OpenedSession> {
  const stored = choice.stored ?? (await begin(host, choice))
  const live = await host.session(stored.id)
  const isFresh = stored.claudeSessionId === null && stored.forkedFrom === null
  return {
    live,
    // Our own, so that one id finds the session here and the conversation there.
    newSessionId: isFresh || choice.nativeSessionId !== null ? stored.id : undefined,
    discard: async () => {
      if (choice.stored === undefined) await host.deleteSession(stored.id)
    },
  }
}

async function begin(host: SessionHost, choice: SessionChoice): Promise<StoredSession> {
  const { projectRoot, persona, mode, harness, model, nativeSessionId } = choice
  const session = await host.createSession(projectRoot, { persona, mode, harness, model })
  if (nativeSessionId === null) return session
  return host.store.update(session.id, { claudeSessionId: nativeSessionId })
}
