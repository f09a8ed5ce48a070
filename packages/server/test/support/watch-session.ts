import type { Envelope, UIEvent, UIEventType } from '@chirality/core'
import type { TRPCClient } from '@trpc/client'
import type { AppRouter } from '../../src/index.ts'

/** All events of a session as a client sees them. */
export class SessionWatch {
  readonly envelopes: Envelope[] = []
  readonly #waiting = new Set<() => void>()
  readonly #stop: () => void

  constructor(client: TRPCClient<AppRouter>, sessionId: string) {
    const subscription = client.session.events.subscribe(
      { sessionId },
      {
        onData: ({ data }) => {
          this.envelopes.push(...data)
          for (const check of [...this.#waiting]) check()
        },
      },
    )
    this.#stop = () => subscription.unsubscribe()
  }

  get types(): UIEventType[] {
    return this.envelopes.map(({ event }) => event.type)
  }

  /** The first event of a type that fits, now or later. */
  until<T extends UIEventType>(
    type: T,
    fits: (event: Extract<UIEvent, { type: T }>, envelope: Envelope) => boolean = () => true,
  ): Promise<Extract<UIEvent, { type: T }>> {
    return new Promise(resolve => {
      const check = () => {
        const found = this.envelopes.find(
          envelope =>
            envelope.event.type === type && fits(envelope.event as Extract<UIEvent, { type: T }>, envelope),
        )
        if (found === undefined) return
        this.#waiting.delete(check)
        resolve(found.event as Extract<UIEvent, { type: T }>)
      }
      this.#waiting.add(check)
      check()
    })
  }

  stop(): void {
    this.#stop()
  }
}
