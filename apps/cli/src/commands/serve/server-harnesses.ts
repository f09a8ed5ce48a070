import type { SessionHarness } from '@chirality/core'
import {
  ClaudeCodeHarness,
  CodexHarness,
  HarnessRegistry,
  type MemoryLimit,
  MessagesApiHarness,
  type RunnerLogEntry,
} from '@chirality/runner'
import { AgentSdkHarness } from '@chirality/runner/agent-sdk'
import { readPrices, userDataFolder } from '@chirality/sessions'
import type { RunningDemo } from '../../demo/start-demo.ts'

/** Every agent there is, with what they have to say going to the log of the project they work in. */
export function serverHarnesses(
  onLog: (entry: RunnerLogEntry) => void,
  demo?: RunningDemo,
  { environment, keepMemory }: { environment?: Record<string, string>; keepMemory?: MemoryLimit } = {},
): HarnessRegistry<SessionHarness> {
  const dataFolder = userDataFolder()
  const harnesses = new HarnessRegistry<SessionHarness>()
  harnesses.register(new ClaudeCodeHarness({ onLog, environment, dataFolder, keepMemory }))
  harnesses.register(new CodexHarness({ onLog, environment, dataFolder }))
  harnesses.register(new AgentSdkHarness({ onLog, environment, dataFolder, keepMemory }))
  harnesses.register(
    demo?.harness(onLog) ?? new MessagesApiHarness({ onLog, environment, prices: () => readPrices() }),
  )
  return harnesses
}
