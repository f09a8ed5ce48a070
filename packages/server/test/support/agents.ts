import type { SessionHarness } from '@chirality/core'
import { claudeBinary, cleanHome } from '@chirality/fixtures'
import { ClaudeCodeHarness, HarnessRegistry } from '@chirality/runner'
import { type Script, type ScriptedModel, startScriptedModel } from '@chirality/scripted-model'
import { onTestFinished } from 'vitest'

export interface World {
  model: ScriptedModel
  home: string
  project: string
  /** New for each server, as after a restart. */
  harnesses(): HarnessRegistry<SessionHarness>
}

/** A real Claude Code with a home of its own, and a model that says what a script says. Gone when the test is. */
export async function createWorld(script: Script): Promise<World> {
  const model = await startScriptedModel(script)
  const { home, project, env, dispose } = await cleanHome(model)
  onTestFinished(async () => {
    await model.close()
    await dispose()
  })
  return {
    ...{ model, home, project },
    harnesses: () => {
      const harnesses = new HarnessRegistry<SessionHarness>()
      harnesses.register(new ClaudeCodeHarness({ binaryPath: claudeBinary(), environment: env }))
      return harnesses
    },
  }
}
