import type { Envelope } from '@chirality/core'

/** A turn that was started, wherever it runs. */
export interface RunningTurn {
  /** To its last word. */
  envelopes: AsyncIterable<Envelope>
  interrupt(): void
  kill(): void
}

/** Undefined when it was stopped before it could begin. */
export type StartTurn = (wasStopped: () => boolean) => Promise<RunningTurn | undefined>
