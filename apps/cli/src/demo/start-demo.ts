import type { MessagesApiHarness, RunnerLogEntry } from '@chirality/runner'
import { startScriptedModel } from '@chirality/scripted-model'
import type { Demo } from '@chirality/server'
import { readPrices, userDataFolder } from '@chirality/sessions'
import { DemoHarness } from './demo-harness.ts'
import { makeDemoProject } from './demo-project.ts'
import { DEMO_PROMPT, demoScript } from './demo-script.ts'

export interface RunningDemo extends Demo {
  /** The Messages API, which plays a script in the demo's project and nowhere else. */
  harness(onLog: (entry: RunnerLogEntry) => void): MessagesApiHarness
  /** What the demo's session is made with. */
  session: { harness: string; model: string; title: string; permissionMode: 'default' }
  close(): Promise<void>
}

/** A project with a bug, and an agent that mends it: no account, no network, no other program. */
export async function startDemo(): Promise<RunningDemo> {
  const projectRoot = await makeDemoProject(userDataFolder())
  const model = await startScriptedModel(demoScript())
  return {
    projectRoot,
    prompt: DEMO_PROMPT,
    harness: onLog =>
      new DemoHarness(
        { projectRoot, modelUrl: model.url },
        { onLog, prices: () => ({ ...readPrices(), [MODEL]: FREE }) },
      ),
    session: {
      harness: 'messages-api',
      model: MODEL,
      title: 'Mend the failing test',
      permissionMode: 'default',
    },
    close: () => model.close(),
  }
}

const MODEL = 'demo'
const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
