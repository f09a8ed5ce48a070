import { countResults } from '@chirality/conformance'
import type { SessionHarness } from '@chirality/core'
import {
  acpHarnesses,
  detectShellEnvironment,
  HARNESSES,
  type HarnessOptions,
  HarnessRegistry,
  OwnAgents,
  processEnv,
} from '@chirality/runner'
import { readPrices, userDataFolder } from '@chirality/sessions'
import type { RunningDemo } from '../../demo/start-demo.ts'

/** All agents, whose log lines go to the project they work in. */
export async function serverHarnesses(
  onLog: NonNullable<HarnessOptions['onLog']>,
  demo?: RunningDemo,
  options: Pick<HarnessOptions, 'environment' | 'keepMemory'> = {},
): Promise<{ harnesses: HarnessRegistry<SessionHarness>; agents: OwnAgents }> {
  const harnesses = new HarnessRegistry<SessionHarness>()
  const own: HarnessOptions & { dataFolder: string } = {
    ...{ onLog, ...options },
    dataFolder: userDataFolder(),
    prices: () => readPrices(),
  }
  await countResults(own.dataFolder)
  const played = demo?.harness(onLog)
  for (const { meta, create } of HARNESSES)
    harnesses.register(played?.id === meta.id ? played : await create(own))
  const { dataFolder, environment = processEnv() } = own
  for (const { create } of await acpHarnesses({ dataFolder, environment }))
    harnesses.register(await create(own))
  return { harnesses, agents: new OwnAgents({ dataFolder, harnesses, harnessOptions: own }) }
}

/**
 * The environment that the server's agents get a part of. A program that was started from a dock or by a service has a
 * bare PATH without agents and tools, so the user's login shell is asked for it.
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
