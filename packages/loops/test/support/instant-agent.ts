import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { HarnessCapabilities, Session, SessionHarness, UIEvent } from '@chirality/core'

/**
 * An agent that changes a file and is done: what remains is the cost of the engine. With `limitedUntil` it says instead
 * that a limit of its plan is reached.
 */
export class InstantAgent implements SessionHarness {
  readonly id = 'instant'
  readonly #limitedUntil: string | undefined
  #turns = 0

  readonly #asked: () => Promise<void>

  /** `asked`: what a turn waits for. */
  constructor({ limitedUntil, asked }: { limitedUntil?: string; asked?: () => Promise<void> } = {}) {
    this.#limitedUntil = limitedUntil
    this.#asked = asked ?? (async () => {})
  }

  meta() {
    return { id: this.id, name: 'Instant', vendor: 'bench', website: 'http://127.0.0.1' }
  }

  models() {
    return []
  }

  capabilities(): HarnessCapabilities {
    return CAPABILITIES
  }

  async checkInstallStatus() {
    return { installed: true, authType: 'none' as const, authenticated: true }
  }

  async discoverSlashCommands() {
    return []
  }

  // biome-ignore lint/correctness/useYield: a loop asks for turns only
  async *query(): AsyncGenerator<never> {
    throw new Error('not asked for')
  }

  async *startTurn({ id: sessionId, ...session }: Session, message: string): AsyncGenerator<UIEvent> {
    this.#turns += 1
    yield { type: 'turn:start', sessionId, message }
    yield {
      type: 'session:init',
      sessionId,
      claudeSessionId: sessionId,
      tools: [],
      harness: this.id,
      model: 'none',
    }
    await this.#asked()
    if (this.#limitedUntil !== undefined) {
      const windows = [{ name: '5 hours', usedPercent: 100, resetsAt: this.#limitedUntil }]
      yield { type: 'limits', sessionId, windows }
      yield { type: 'session:error', sessionId, error: 'The limit is reached.', code: 'rate_limited' }
      yield { type: 'turn:end', sessionId, reason: 'failed' }
      return
    }
    const folder = session.workFolder ?? session.projectRoot
    writeFileSync(path.join(folder, `${/Task \d+/.exec(message)?.[0] ?? 'x'}.txt`), `${this.#turns}\n`)
    yield { type: 'chat:message', sessionId, messageId: `m${this.#turns}`, text: 'Done.' }
    const usage = { input_tokens: 10, output_tokens: 5 }
    yield { type: 'session:complete', sessionId, costUsd: 0.001, usage }
    yield { type: 'turn:end', sessionId, reason: 'completed' }
  }

  interrupt(): void {}

  async kill(): Promise<void> {}

  async release(): Promise<void> {}

  isRunning(): boolean {
    return false
  }

  async close(): Promise<void> {}
}

const CAPABILITIES: HarnessCapabilities = {
  ...{
    supportsSystemPrompt: true,
    supportsAppendSystemPrompt: true,
    supportsReadOnly: true,
    supportsMcp: false,
  },
  ...{ supportsResume: true, supportsFork: false, supportsForkAt: false, supportsClientTools: false },
  ...{ supportsStreamingTokens: false, supportsCostTracking: true, supportsNamedTools: true },
  ...{ supportsImages: false, supportsDecisions: true, supportsSteering: false, supportsPrewarm: false },
  ...{ supportsMaxTurns: true, supportsBudget: true },
}
