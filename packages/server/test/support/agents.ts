import path from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { claudeBinary, cleanHome, codexBinary } from '@chirality/fixtures'
import { ClaudeCodeHarness, CodexHarness, HarnessRegistry, MessagesApiHarness } from '@chirality/runner'
import { codexArgs, type Script, type ScriptedModel, startScriptedModel } from '@chirality/scripted-model'
import { onTestFinished } from 'vitest'
import { type RunningServer, startServer } from '../../src/index.ts'

export interface World {
  model: ScriptedModel
  home: string
  project: string
  /** New for each server, as after a restart. */
  harnesses(): HarnessRegistry<SessionHarness>
}

/** Real agents with a home of their own, and a model that says what a script says. Gone when the test is. */
export async function createWorld(
  script: Script,
  /** In the place of what Claude Code has in its environment; undefined takes it away. */
  claude: Record<string, string | undefined> = {},
): Promise<World> {
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
      harnesses.register(
        new ClaudeCodeHarness({ binaryPath: claudeBinary(), environment: { ...env, ...claude } }),
      )
      harnesses.register(new MessagesApiHarness({ environment: env }))
      harnesses.register(codex(model, env))
      return harnesses
    },
  }
}

/** A server with the agents and the project of a world, closed when the test is over. */
export async function serveWorld(world: World): Promise<RunningServer> {
  const server = await startServer({
    ...{ harnesses: world.harnesses(), projects: [world.project], port: 0 },
    home: path.join(world.home, 'chirality'),
  })
  onTestFinished(() => server.close())
  return server
}

function codex(model: ScriptedModel, env: Record<string, string>): CodexHarness {
  const scripted = codexArgs(model)
  return new CodexHarness({
    binaryPath: codexBinary().path,
    configOverrides: scripted.args.filter(arg => arg !== '-c'),
    allowEnvironment: Object.keys(scripted.env),
    environment: { ...env, ...scripted.env },
  })
}
