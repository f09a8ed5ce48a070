import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { cageHere } from '@chirality/fixtures'
import { afterEach, beforeEach, expect } from 'vitest'
import { type CagePlan, type CageRequest, type KeeperAnswer, keeperCommand, planCage } from '../src/index.ts'

export const here = cageHere()

/** A home, a project, a data folder and a folder for a cage, of a test's own. */
export function usePlace(): {
  at(...names: string[]): string
  plan(wanted?: Partial<CageRequest>): Promise<CagePlan>
} {
  let root = ''
  const at = (...names: string[]) => path.join(root, ...names)
  beforeEach(() => {
    root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-cage-')))
    for (const name of ['home', 'data', 'project', 'other', 'cage']) mkdirSync(at(name))
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))
  const plan = (wanted: Partial<CageRequest> = {}) => {
    const env = { PATH: process.env.PATH ?? '', HOME: at('home') }
    return planCage({
      command: '/bin/true',
      args: [],
      env,
      environment: { ...env, ...here.environment },
      cwd: at('project'),
      projectRoot: at('project'),
      folder: at('cage'),
      dataFolder: at('data'),
      needs: {
        program: [],
        own: [],
        server: { variable: 'MODEL_URL', vendor: 'http://127.0.0.1:9' },
        keys: [],
        env: {},
      },
      ...wanted,
    })
  }
  return { at, plan }
}

/** Asserts the refusal of a machine that cannot cage. */
export async function expectRefusal(plan: Promise<CagePlan>): Promise<void> {
  if (here.refusal?.test('could not make the cage'))
    expect((await keep(await plan)).answer.kind).toBe('refused')
  else await expect(plan).rejects.toThrow(here.refusal)
}

export async function startKeeper(plan: CagePlan) {
  const { command, args } = keeperCommand(plan.folder)
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit', 'pipe'], env: {} })
  const channel = child.stdio[3] as Socket
  channel.write(`${JSON.stringify(plan)}\n`)
  const [line] = (await once(channel.setEncoding('utf8'), 'data')) as [string]
  const stdout = child.stdout as Readable
  return { child, stdout, answer: JSON.parse(line) as KeeperAnswer }
}

/** Runs a cage to its end. */
export async function keep(plan: CagePlan) {
  const { child, stdout: stream, answer } = await startKeeper(plan)
  let stdout = ''
  stream.on('data', chunk => {
    stdout += chunk
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { answer, stdout, code }
}
