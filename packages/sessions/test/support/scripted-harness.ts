import type {
  AdoptTurnOpts,
  HarnessCapabilities,
  HarnessTurnOpts,
  PromptPart,
  Session,
  SessionHarness,
  TurnEndReason,
  TurnTrace,
  UIEvent,
} from '@chirality/core'

/** What a turn does: yields events, waits for a signal of the test, throws. */
export type TurnScript = (turn: ScriptedTurn) => AsyncGenerator<UIEvent>

export interface ScriptedTurn {
  session: Session
  message: string
  opts: HarnessTurnOpts
  /** Resolves when the turn is interrupted or killed. */
  stopped: Promise<'interrupted' | 'killed'>
}

export interface ScriptedHarnessOptions {
  id?: string
  capabilities?: Partial<HarnessCapabilities>
  /** What a prewarm waits for. */
  prewarming?: () => Promise<void>
  steer?: (message: string, images?: PromptPart[]) => Promise<boolean>
  adoptTurn?: (session: Session, trace: TurnTrace, opts?: AdoptTurnOpts) => AsyncGenerator<UIEvent>
}

/** An agent whose turns a test writes. For what no real agent can be made to do on demand. */
export class ScriptedHarness implements SessionHarness {
  readonly id: string
  readonly turns: { session: Session; message: string; opts: HarnessTurnOpts }[] = []
  readonly prewarmed: string[] = []
  readonly released: string[] = []
  readonly steer?: SessionHarness['steer']
  readonly adoptTurn?: SessionHarness['adoptTurn']
  permissionMode: string | undefined
  readonly #scripts: TurnScript[]
  readonly #options: ScriptedHarnessOptions
  readonly #stops = new Map<string, (how: 'interrupted' | 'killed') => void>()

  constructor(scripts: TurnScript[], options: ScriptedHarnessOptions = {}) {
    this.id = options.id ?? 'scripted'
    this.#scripts = [...scripts]
    this.#options = options
    const { steer, adoptTurn } = options
    if (steer !== undefined) this.steer = (_id, message, images) => steer(message, images)
    if (adoptTurn !== undefined) this.adoptTurn = adoptTurn
  }

  meta() {
    return { id: this.id, name: 'Scripted', vendor: 'test', website: 'http://127.0.0.1' }
  }

  models() {
    return []
  }

  capabilities(): HarnessCapabilities {
    return { ...ALL, ...this.#options.capabilities }
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

  async *startTurn(session: Session, message: string, opts: HarnessTurnOpts = {}): AsyncGenerator<UIEvent> {
    this.turns.push({ session, message, opts })
    const script = this.#scripts.shift() ?? answers('Done.')
    const stopped = new Promise<'interrupted' | 'killed'>(resolve => {
      this.#stops.set(session.id, resolve)
      opts.signal?.addEventListener('abort', () => resolve('interrupted'))
      if (opts.signal?.aborted) resolve('interrupted')
    })
    try {
      yield* script({ session, message, opts, stopped })
    } finally {
      this.#stops.delete(session.id)
    }
  }

  interrupt(sessionId: string): void {
    this.#stops.get(sessionId)?.('interrupted')
  }

  async kill(sessionId: string): Promise<void> {
    this.#stops.get(sessionId)?.('killed')
  }

  async release(sessionId: string): Promise<void> {
    this.released.push(sessionId)
    this.#stops.get(sessionId)?.('killed')
  }

  isRunning(sessionId: string): boolean {
    return this.#stops.has(sessionId)
  }

  async prewarm(session: Session): Promise<void> {
    this.prewarmed.push(session.id)
    await this.#options.prewarming?.()
  }

  async setPermissionMode(_sessionId: string, mode: string): Promise<void> {
    this.permissionMode = mode
  }

  async close(): Promise<void> {}
}

/** A turn that says one thing and ends well. */
export function answers(text: string): TurnScript {
  return async function* ({ session: { id: sessionId }, message }) {
    yield { type: 'turn:start', sessionId, message }
    yield init(sessionId)
    yield { type: 'chat:message', sessionId, messageId: 'm1', text }
    yield {
      type: 'session:complete',
      sessionId,
      costUsd: 0.25,
      usage: { input_tokens: 10, output_tokens: 5 },
    }
    yield { type: 'turn:end', sessionId, reason: 'completed' }
  }
}

/** A turn that begins, does `events`, and then waits until it is stopped, or released with how it ends. */
export function waits(
  release: Promise<TurnEndReason> = new Promise(() => {}),
  events: (sessionId: string) => UIEvent[] = () => [],
): TurnScript {
  return async function* ({ session: { id: sessionId }, message, stopped }) {
    yield { type: 'turn:start', sessionId, message }
    yield init(sessionId)
    yield* events(sessionId)
    const reason = await Promise.race([stopped, release])
    if (reason !== 'completed') {
      const error = 'The turn was stopped.'
      yield { type: 'session:error', sessionId, error, code: 'interrupted' }
    }
    yield { type: 'turn:end', sessionId, reason }
  }
}

export function init(sessionId: string): UIEvent {
  return {
    type: 'session:init',
    sessionId,
    claudeSessionId: 'native-1',
    tools: [],
    harness: 'scripted',
    model: 'claude-sonnet-4-5',
  }
}

const ALL: HarnessCapabilities = {
  supportsSystemPrompt: true,
  supportsAppendSystemPrompt: true,
  supportsReadOnly: true,
  supportsMcp: true,
  supportsResume: true,
  supportsFork: true,
  supportsForkAt: true,
  supportsClientTools: true,
  supportsStreamingTokens: true,
  supportsCostTracking: true,
  supportsNamedTools: true,
  supportsImages: true,
  supportsDecisions: true,
  supportsSteering: true,
  supportsPrewarm: true,
  supportsMaxTurns: true,
  supportsBudget: true,
}
