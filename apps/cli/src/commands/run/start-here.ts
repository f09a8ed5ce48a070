import type { Envelope } from '@chirality/core'
import type { LiveSession, SessionHost } from '@chirality/sessions'
import { openSession } from './open-session.ts'
import type { RunRequest } from './request.ts'
import type { StartTurn } from './running-turn.ts'

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
