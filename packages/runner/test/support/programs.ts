import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  type AgentProcess,
  type AgentProcessOptions,
  outputOf,
  spawnAgent,
} from '../../src/process/agent-process.ts'
import type { AgentOutput } from '../../src/process/output/agent-output.ts'
import { openSpool, type Spool } from '../../src/process/spool/spool.ts'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { processEnv } from '../../src/process/system/process-env.ts'
import { readProcess } from '../../src/process/system/process-table.ts'

export const TEST_ENV = { PATH: processEnv().PATH ?? '/usr/bin:/bin' }

export function openTestSpool(projectRoot: string): Promise<Spool> {
  return openSpool({ projectRoot, harness: 'test', sessionId: 'session', turnId: 'turn' })
}

/** What it takes to run one of `test/programs` with Node. */
export async function program(
  projectRoot: string,
  name: string,
  ...args: string[]
): Promise<AgentProcessOptions> {
  const path = fileURLToPath(new URL(`../programs/${name}.mjs`, import.meta.url))
  return {
    command: process.execPath,
    args: [path, ...args],
    cwd: projectRoot,
    env: TEST_ENV,
    spool: await openTestSpool(projectRoot),
  }
}

/** What it takes to run a line of JavaScript. */
export async function script(projectRoot: string, source: string): Promise<AgentProcessOptions> {
  return {
    command: process.execPath,
    args: ['-e', source],
    cwd: projectRoot,
    env: TEST_ENV,
    spool: await openTestSpool(projectRoot),
  }
}

export async function collect(agent: AgentProcess): Promise<AgentOutput[]> {
  const outputs: AgentOutput[] = []
  outputs.push(...(left.get(agent) ?? []))
  for await (const output of outputOf(agent)) outputs.push(output)
  return outputs
}

export async function runProgram(options: AgentProcessOptions): Promise<{
  outputs: AgentOutput[]
  agent: AgentProcess
}> {
  const agent = await spawnAgent(options)
  return { outputs: await collect(agent), agent }
}

/** The next thing the agent gives. Leaves the rest for the next call. */
export async function nextOutput(agent: AgentProcess): Promise<AgentOutput> {
  const outputs = left.get(agent) ?? []
  left.set(agent, outputs)
  if (outputs.length === 0) outputs.push(...((await agent.read()) ?? []))
  const output = outputs.shift()
  if (output === undefined) throw new Error('the output ended')
  return output
}

/** Read of an agent, and not taken yet. */
const left = new WeakMap<AgentProcess, AgentOutput[]>()

/** The next JSON value the agent prints. */
export async function nextValue(agent: AgentProcess): Promise<unknown> {
  for (;;) {
    const output = await nextOutput(agent)
    if (output.kind === 'record' && output.record.kind === 'json') return output.record.value
  }
}

export async function readyPid(agent: AgentProcess): Promise<number> {
  const value = await nextValue(agent)
  if (typeof value === 'object' && value !== null && 'ready' in value) return Number(value.ready)
  throw new Error(`expected the ready line, got ${JSON.stringify(value)}`)
}

export function jsonValues(outputs: AgentOutput[]): unknown[] {
  return outputs.flatMap(output =>
    output.kind === 'record' && output.record.kind === 'json' ? [output.record.value] : [],
  )
}

export async function isRunning(pid: number): Promise<boolean> {
  const entry = await readProcess(pid)
  return entry !== undefined && !entry.zombie
}

/** Resolves when nothing with this marker runs any more; if something stays, the test fails by its time limit. */
export async function untilUnmarked(marker: string): Promise<void> {
  while ((await findByMarker(marker)).length > 0) await pause(POLL_MS)
}

/** Resolves when the process has ended. A test that gets no answer here fails by its time limit. */
export async function untilGone(pid: number): Promise<void> {
  while (await isRunning(pid)) await pause(POLL_MS)
}

/** Whoever asks without a pause takes the processor from what it waits for. */
const POLL_MS = 5
