import type { HarnessId, SessionHarness } from '@chirality/core'
import { ClaudeCodeHarness, CodexHarness, HarnessRegistry, type RunnerLogEntry } from '@chirality/runner'
import { readPrices, userDataFolder } from '@chirality/sessions'
import { agentEnvironment } from './agent-environment.ts'

/** The agents that keep conversations of their own. The first is the one that runs when none is named. */
export type CommandHarness = ClaudeCodeHarness | CodexHarness

export const HARNESS_IDS = ['claude-code', 'codex'] as const
export const DEFAULT_HARNESS = HARNESS_IDS[0]
/** All that can run a turn. */
export const RUN_HARNESS_IDS = [...HARNESS_IDS, 'agent-sdk', 'messages-api'] as const

type OnLog = (entry: RunnerLogEntry) => void
interface HarnessConfig {
  onLog?: OnLog
  environment?: Record<string, string>
  dataFolder?: string
}

export function createHarnesses(): HarnessRegistry<CommandHarness> {
  const harnesses = new HarnessRegistry<CommandHarness>()
  for (const harness of installed()) harnesses.register(harness)
  return harnesses
}

/**
 * For a turn. Those that hardly any turn needs are loaded when they are asked for: most of the time that the command takes to
 * start goes into reading code. A turn that one of the others has left at work in the project is none of its business.
 */
export class RunHarnesses extends HarnessRegistry<SessionHarness> {
  readonly #config: HarnessConfig

  constructor(onLog: OnLog) {
    super()
    this.#config = { onLog, environment: agentEnvironment(), dataFolder: userDataFolder() }
    for (const harness of installed(this.#config)) this.register(harness)
  }

  /** Throws a HarnessError when there is no such harness. */
  async load(id: HarnessId): Promise<SessionHarness> {
    const make = this.has(id) ? undefined : LOADED[id]
    if (make !== undefined) this.register(await make(this.#config))
    return this.getOrThrow(id)
  }
}

const LOADED: Readonly<Partial<Record<HarnessId, (config: HarnessConfig) => Promise<SessionHarness>>>> = {
  'agent-sdk': async config => {
    const { AgentSdkHarness } = await import('@chirality/runner/agent-sdk')
    return new AgentSdkHarness(config)
  },
  'messages-api': async ({ onLog, environment }) => {
    const { MessagesApiHarness } = await import('@chirality/runner/messages-api')
    return new MessagesApiHarness({ onLog, environment, prices: () => readPrices() })
  },
}

function installed(config: HarnessConfig = {}): CommandHarness[] {
  // One turn, and the command is over: nothing is worth keeping.
  return [new ClaudeCodeHarness({ ...config, keepAlive: false }), new CodexHarness(config)]
}
