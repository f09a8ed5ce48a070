import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { claudeBinary, cleanHome, codexBinary } from '@chirality/fixtures'
import { codexArgs, type Script, type ScriptedModel, startScriptedModel } from '@chirality/scripted-model'
import { expect, onTestFinished } from 'vitest'
import { findMarked } from './processes.ts'
import { RunningCommand, type StartOptions } from './running-command.ts'

/** A home, a project, a scripted model and a `chirality` that knows nothing else. Gone when the test is. */
export interface World {
  readonly home: string
  readonly project: string
  readonly env: Record<string, string>
  readonly model: ScriptedModel
  start(args: string[], options?: StartOptions): RunningCommand
  /** Runs to the end. */
  run(args: string[], options?: StartOptions): ReturnType<RunningCommand['result']>
  /** The raw logs of the project's turns. */
  spools(harness?: string): string[]
}

export async function createWorld(script: Script = { otherwise: 'ok' }): Promise<World> {
  const model = await startScriptedModel(script)
  const { home, project, env: agentEnv, dispose } = await cleanHome(model)
  const marker = randomUUID()
  const env = {
    ...agentEnv,
    // As from a terminal: the login shell of whoever runs the test is not asked.
    TERM: 'dumb',
    PATH: `${path.dirname(process.execPath)}:${agentEnv.PATH}`,
    CHIRALITY_CLAUDE_BIN: claudeBinary(),
    ...codexEnv(model),
    // Handed on to everything that is started from here, so that this test finds its own processes and no others.
    CHIRALITY_RUN: marker,
  }
  const commands: RunningCommand[] = []
  onTestFinished(async () => {
    const stillRunning = commands.filter(command => command.isRunning)
    for (const command of stillRunning) command.signal('SIGKILL')
    await Promise.all(stillRunning.map(command => command.result()))
    await model.close()
    const processes = findMarked(marker)
    for (const { pid } of processes) process.kill(pid, 'SIGKILL')
    const files = readdirSync(path.join(home, 'tmp')).filter(name => name.startsWith('chirality'))
    await dispose()
    expect(processes, 'processes left behind').toEqual([])
    expect(files, 'temporary files left behind').toEqual([])
  })
  const start = (args: string[], options: StartOptions = {}) => {
    const command = new RunningCommand(options.program === undefined ? [BIN, ...args] : args, {
      cwd: project,
      ...options,
      env: { ...env, ...options.env },
    })
    commands.push(command)
    return command
  }
  return {
    home,
    project,
    env,
    model,
    start,
    run: async (args, options) => {
      const result = await start(args, options).result()
      // Right after the command: nothing may take its time to go away.
      expect(findMarked(marker), 'processes left behind').toEqual([])
      return result
    },
    spools: (harness = 'claude-code') => {
      const folder = path.join(project, '.chirality', 'logs', harness)
      const names = existsSync(folder) ? readdirSync(folder).filter(name => name.endsWith('.ndjson')) : []
      return names.map(name => path.join(folder, name))
    },
  }
}

/** A Codex that reaches only the model, with a key that is let through to it. */
function codexEnv(model: ScriptedModel): Record<string, string> {
  const overrides = codexArgs(model).args.filter(arg => arg !== '-c')
  const config = [...overrides, 'model_providers.scripted.env_key="CODEX_API_KEY"', 'model="gpt-5.5"']
  return {
    CHIRALITY_CODEX_BIN: codexBinary().path,
    CHIRALITY_CODEX_CONFIG: JSON.stringify(config),
    CODEX_API_KEY: 'sk-scripted-model',
  }
}

/** One of `test/programs`, to stand in for `claude`. */
export function program(name: string): string {
  return fileURLToPath(new URL(`../programs/${name}`, import.meta.url))
}

export const BIN = fileURLToPath(new URL('../../bin/chirality.mjs', import.meta.url))
