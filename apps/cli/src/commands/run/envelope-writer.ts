import type { Envelope, UIEvent } from '@chirality/core'

/** Numbers the events of one turn and gives each as a line of JSON. */
export function envelopeWriter(sessionId: string, turnId: string): (event: UIEvent) => string {
  let seq = 0
  return event => {
    seq += 1
    const envelope: Envelope = { seq, at: new Date().toISOString(), sessionId, turnId, event }
    return `${JSON.stringify(envelope)}\n`
  }
}
