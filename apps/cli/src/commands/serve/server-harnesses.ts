import type { SessionHarness } from '@chirality/core'
import {
  ClaudeCodeHarness,
  CodexHarness,
  detectShellEnvironment,
  HarnessRegistry,
  type MemoryLimit,
  MessagesApiHarness,
  processEnv,
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
  harnesses.register(new CodexHarness({ onLog, environment, dataFolder, keepMemory }))
  harnesses.register(new AgentSdkHarness({ onLog, environment, dataFolder, keepMemory }))
  harnesses.register(
    demo?.harness(onLog) ?? new MessagesApiHarness({ onLog, environment, prices: () => readPrices() }),
  )
  return harnesses
}

/**
 * What agents of the server are given their share of. A program that was started from a dock or by a service has a bare PATH, on
 * which there are no agents and no tools: then the user's login shell is asked.
 */
export async function serverEnvironment(
  own: Record<string, string> = processEnv(),
  detect: () => Promise<Record<string, string>> = detectShellEnvironment,
): Promise<Record<string, string>> {
  const isFromShell = own.TERM !== undefined || own.SHLVL !== undefined
  if (isFromShell) return own
  const shell = await detect()
  const folders = [own.PATH, shell.PATH].flatMap(path => path?.split(':') ?? [])
  return { ...shell, ...own, PATH: [...new Set(folders)].filter(Boolean).join(':') }
}
