import { randomUUID } from 'node:crypto'
import type {
  Envelope,
  HarnessCapabilities,
  HarnessTurnOpts,
  ImportedSession,
  Session,
  SessionHarness,
  UIEvent,
} from '@chirality/core'
import { longLog } from './long-log.ts'
import { MARK, type StreamPlan } from './protocol.ts'

/** An agent that writes a given text at a given speed. All that is between it and the page is the real thing. */
export class StreamHarness implements SessionHarness {
  readonly id = 'stream'
  plan: StreamPlan = { text: '', deltaChars: 1, perSecond: 1 }
  sentAt: number[] = []
  readonly #running = new Set<string>()

  meta() {
    return { id: this.id, name: 'Stream', vendor: 'bench', website: 'http://127.0.0.1' }
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

  // biome-ignore lint/correctness/useYield: the host asks for turns only
  async *query(): AsyncGenerator<never> {
    throw new Error('not asked for')
  }

  async *startTurn(
    { id: sessionId }: Session,
    message: string,
    { signal }: HarnessTurnOpts = {},
  ): AsyncGenerator<UIEvent> {
    this.#running.add(sessionId)
    try {
      yield { type: 'turn:start', sessionId, message }
      yield {
        ...{ type: 'session:init', sessionId, claudeSessionId: 'native', tools: [], harness: this.id },
        model: 'claude-sonnet-4-5',
      }
      yield* this.#write(sessionId, signal)
      const usage = { input_tokens: 10, output_tokens: 5 }
      yield { type: 'session:complete', sessionId, costUsd: 0.01, usage }
      yield { type: 'turn:end', sessionId, reason: 'completed' }
    } finally {
      this.#running.delete(sessionId)
    }
  }

  /** The pieces that are due, then a rest: as a model's answer comes out of a socket. */
  async *#write(sessionId: string, signal: AbortSignal | undefined): AsyncGenerator<UIEvent> {
    const { text, deltaChars, perSecond, toolEvery, marked = false } = this.plan
    let messageId = randomUUID()
    const total = Math.ceil(text.length / deltaChars)
    const start = performance.now()
    this.sentAt = []
    let whole = ''
    for (let sent = 0; sent < total && !signal?.aborted; ) {
      const due = Math.min(total, Math.floor(((performance.now() - start) / 1000) * perSecond) + 1)
      for (; sent < due; sent++) {
        const piece = text.slice(sent * deltaChars, (sent + 1) * deltaChars)
        const delta = marked ? `${piece} ${MARK}${sent} ` : piece
        whole += delta
        this.sentAt.push(Date.now())
        yield { type: 'chat:delta', sessionId, messageId, text: delta }
        if (toolEvery === undefined || (sent + 1) % toolEvery !== 0) continue
        yield { type: 'chat:message', sessionId, messageId, text: whole }
        yield* useTool(sessionId, sent)
        messageId = randomUUID()
        whole = ''
      }
      await new Promise(resolve => setTimeout(resolve, 1))
    }
    yield { type: 'chat:message', sessionId, messageId, text: whole }
  }

  /** `nativeSessionId` says how many events. */
  async importSession(nativeSessionId: string, cwd = ''): Promise<ImportedSession> {
    const id = randomUUID()
    const envelopes: Envelope[] = longLog(id, Number(nativeSessionId))
    const now = new Date().toISOString()
    const session: Session = {
      ...{ id, createdAt: now, updatedAt: now, projectRoot: cwd, persona: null, mode: 'direct' },
      claudeSessionId: 'native',
    }
    return { session, envelopes }
  }

  interrupt(): void {}

  async kill(): Promise<void> {}

  async release(): Promise<void> {}

  isRunning(sessionId: string): boolean {
    return this.#running.has(sessionId)
  }

  async close(): Promise<void> {}
}

function* useTool(sessionId: string, n: number): Generator<UIEvent> {
  const toolUseId = randomUUID()
  const input = { command: `ls -l folder-${n}` }
  yield { type: 'tool:start', sessionId, toolUseId, name: 'Bash', input: {} }
  yield { type: 'tool:input', sessionId, toolUseId, delta: JSON.stringify(input) }
  yield { type: 'tool:input', sessionId, toolUseId, input }
  yield {
    type: 'tool:result',
    sessionId,
    toolUseId,
    content: 'a line of output\n'.repeat(50),
    isError: false,
  }
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
  supportsStreamingTokens: true,
  supportsCostTracking: true,
  supportsNamedTools: false,
  supportsImages: false,
  supportsDecisions: true,
  supportsSteering: false,
  supportsPrewarm: false,
  supportsMaxTurns: false,
  supportsBudget: false,
}
