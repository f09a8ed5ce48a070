import { ClaudeCodeHarness, CodexHarness, HarnessRegistry, type RunnerLogEntry } from '@chirality/runner'

/** The agents that the command runs. The first is the one that runs when none is named. */
export type CommandHarness = ClaudeCodeHarness | CodexHarness

export const HARNESS_IDS = ['claude-code', 'codex'] as const
export const DEFAULT_HARNESS = HARNESS_IDS[0]

export function createHarnesses(onLog?: (entry: RunnerLogEntry) => void): HarnessRegistry<CommandHarness> {
  const harnesses = new HarnessRegistry<CommandHarness>()
  // One turn, and the command is over: nothing is worth keeping.
  harnesses.register(new ClaudeCodeHarness({ keepAlive: false, onLog }))
  harnesses.register(new CodexHarness({ onLog }))
  return harnesses
}
