import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { claudeBinary, cleanHome } from '@chirality/fixtures'
import { type Script, type ScriptedModel, startScriptedModel } from '@chirality/scripted-model'
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
  spools(): string[]
}

export async function createWorld(script: Script = { otherwise: 'ok' }): Promise<World> {
  const model = await startScriptedModel(script)
  const { home, project, env: agentEnv, dispose } = await cleanHome(model)
  const marker = randomUUID()
  const env = {
    ...agentEnv,
    PATH: `${path.dirname(process.execPath)}:${agentEnv.PATH}`,
    CHIRALITY_CLAUDE_BIN: claudeBinary(),
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
    const command = new RunningCommand([BIN, ...args], {
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
    spools: () => {
      const folder = path.join(project, '.chirality', 'logs', 'claude-code')
      return existsSync(folder) ? readdirSync(folder).map(name => path.join(folder, name)) : []
    },
  }
}

/** One of `test/programs`, to stand in for `claude`. */
export function program(name: string): string {
  return fileURLToPath(new URL(`../programs/${name}`, import.meta.url))
}

export const BIN = fileURLToPath(new URL('../../bin/chirality.mjs', import.meta.url))
