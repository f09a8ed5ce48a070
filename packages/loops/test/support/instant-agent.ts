import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { HarnessCapabilities, Session, SessionHarness, UIEvent } from '@chirality/core'

export interface InstantAgentOptions {
  id?: string
  limitedUntil?: string
  /** Event for which a turn waits. */
  asked?: () => Promise<void>
  isInstalled?: boolean
  /** False: it changes no file itself. */
  writes?: boolean
  /** Shows only in a turn. */
  hasLogin?: boolean
}

/**
 * An agent that changes a file and is done: what remains is the cost of the engine. With `limitedUntil` it says instead
 * that a limit of its plan is reached, with `hasLogin: false` that it has no login.
 */
export class InstantAgent implements SessionHarness {
  readonly id: string
  readonly #options: InstantAgentOptions
  #turns = 0

  constructor(options: InstantAgentOptions = {}) {
    this.id = options.id ?? 'instant'
    this.#options = options
  }

  get turns(): number {
    return this.#turns
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
    const { isInstalled = true } = this.#options
    return { installed: isInstalled, authType: 'none' as const, authenticated: isInstalled }
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
    const { asked, limitedUntil, hasLogin = true } = this.#options
    await asked?.()
    if (!hasLogin) {
      yield { type: 'session:error', sessionId, error: 'There is no login.', code: 'auth_failed' }
      yield { type: 'turn:end', sessionId, reason: 'failed' }
      return
    }
    if (limitedUntil !== undefined) {
      const windows = [{ name: '5 hours', usedPercent: 100, resetsAt: limitedUntil }]
      yield { type: 'limits', sessionId, windows }
      yield { type: 'session:error', sessionId, error: 'The limit is reached.', code: 'rate_limited' }
      yield { type: 'turn:end', sessionId, reason: 'failed' }
      return
    }
    const folder = session.workFolder ?? session.projectRoot
    if (this.#options.writes ?? true)
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
  supportsSystemPrompt: true,
  supportsAppendSystemPrompt: true,
  supportsReadOnly: true,
  supportsMcp: false,
  supportsResume: true,
  supportsFork: false,
  supportsForkAt: false,
  supportsClientTools: false,
  supportsStreamingTokens: false,
  supportsCostTracking: true,
  supportsNamedTools: true,
  supportsImages: false,
  supportsDecisions: true,
  supportsSteering: false,
  supportsPrewarm: false,
  supportsMaxTurns: true,
  supportsBudget: true,
}
