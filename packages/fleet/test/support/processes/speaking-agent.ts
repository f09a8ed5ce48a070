import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { HarnessCapabilities, HarnessTurnOpts, Session, SessionHarness, UIEvent } from '@chirality/core'

export interface Speech {
  perSecond: number
  seconds: number
}

/**
 * An agent without a process: what is measured is the machine that runs it. Its turns say as much as `speech` says, or wait
 * until they are stopped. A machine that is too slow says less: `spoken` counts.
 */
export class SpeakingAgent implements SessionHarness {
  readonly id = 'speaking'
  spoken = 0
  speech: Speech | undefined
  /** With the message of each turn that begins. */
  onTurn: (message: string) => void = () => {}
  readonly #running = new Map<string, AbortController>()

  meta() {
    return { id: this.id, name: 'Speaking', vendor: 'bench', website: 'http://127.0.0.1' }
  }

  models() {
    return []
  }

  capabilities(): HarnessCapabilities {
    return NO_CAPABILITIES
  }

  async checkInstallStatus() {
    return { installed: true, authType: 'none' as const, authenticated: true }
  }

  async discoverSlashCommands() {
    return []
  }

  // biome-ignore lint/correctness/useYield: the host asks for turns only
  async *query(): AsyncGenerator<never> {
    throw new Error('not asked for')
  }

  async *startTurn(
    { id: sessionId }: Session,
    message: string,
    opts: HarnessTurnOpts = {},
  ): AsyncGenerator<UIEvent> {
    const stop = new AbortController()
    this.#running.set(sessionId, stop)
    opts.signal?.addEventListener('abort', () => stop.abort())
    try {
      yield { type: 'turn:start', sessionId, message }
      this.onTurn(message)
      if (this.speech !== undefined) yield* this.#speak(sessionId, this.speech, stop.signal)
      else if (message === WAIT && !stop.signal.aborted) await once(stop.signal, 'abort')
      yield { type: 'turn:end', sessionId, reason: stop.signal.aborted ? 'interrupted' : 'completed' }
    } finally {
      this.#running.delete(sessionId)
    }
  }

  async *#speak(
    sessionId: string,
    { perSecond, seconds }: Speech,
    signal: AbortSignal,
  ): AsyncGenerator<UIEvent> {
    const begun = performance.now()
    const passed = () => (performance.now() - begun) / 1000
    for (let said = 0; !signal.aborted; ) {
      const due = Math.floor(passed() * perSecond)
      for (; said < due; said += 1) {
        // A machine that cannot keep up stops in time nevertheless.
        if (passed() >= seconds) return
        this.spoken += 1
        yield { type: 'chat:delta', sessionId, messageId: `msg_${said >> 5}#0`, text: WORDS }
      }
      await sleep(1000 / perSecond)
    }
  }

  interrupt(sessionId: string): void {
    this.#running.get(sessionId)?.abort()
  }

  async kill(sessionId: string): Promise<void> {
    this.interrupt(sessionId)
  }

  async release(sessionId: string): Promise<void> {
    this.interrupt(sessionId)
  }

  isRunning(sessionId: string): boolean {
    return this.#running.has(sessionId)
  }

  async close(): Promise<void> {
    for (const stop of this.#running.values()) stop.abort()
  }
}

/** A message whose turn lasts until it is stopped. */
export const WAIT = 'wait'
/** About 265 bytes as a line of a log. */
const WORDS = 'a few words of streamed text that came with one event '

const NO_CAPABILITIES: HarnessCapabilities = {
  supportsSystemPrompt: false,
  supportsAppendSystemPrompt: false,
  supportsReadOnly: false,
  supportsMcp: false,
  supportsResume: false,
  supportsFork: false,
  supportsForkAt: false,
  supportsClientTools: false,
  supportsStreamingTokens: true,
  supportsCostTracking: false,
  supportsNamedTools: false,
  supportsImages: false,
  supportsDecisions: false,
  supportsSteering: false,
  supportsPrewarm: false,
  supportsMaxTurns: false,
  supportsBudget: false,
}
