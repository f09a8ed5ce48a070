import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NdjsonFramer, type NdjsonRecord } from '@chirality/core'
import { outputOf, spawnAgent } from '../src/process/agent-process.ts'
import { openSpool } from '../src/process/spool/spool.ts'
import { processEnv } from '../src/process/system/process-env.ts'

export interface LatencyReport {
  file: Percentiles
  pipe: Percentiles
}

export interface Percentiles {
  p50Ms: number
  p99Ms: number
}

/** From the agent's write to our record, once through the spool and once through a pipe, in turns. */
export async function measureTailLatency(): Promise<LatencyReport> {
  const root = mkdtempSync(join(tmpdir(), 'chirality-bench-'))
  const file: number[] = []
  const pipe: number[] = []
  try {
    await throughFile(root)
    await throughPipe(root)
    for (let round = 0; round < ROUNDS; round += 1) {
      file.push(...(await throughFile(root)))
      pipe.push(...(await throughPipe(root)))
    }
  } finally {
    rmSync(root, { recursive: true })
  }
  return { file: percentiles(file), pipe: percentiles(pipe) }
}

const ROUNDS = 4
const LINES = 300
const GAP_MS = 3
const PROGRAM = fileURLToPath(new URL('./stamped-lines.mjs', import.meta.url))
const ARGS = [PROGRAM, String(LINES), String(GAP_MS)]
const ENV = { PATH: processEnv().PATH ?? '' }

async function throughFile(root: string): Promise<number[]> {
  const spool = await openSpool({ projectRoot: root, harness: 'bench', sessionId: 'latency', turnId: 'turn' })
  const agent = await spawnAgent({ command: process.execPath, args: ARGS, cwd: root, env: ENV, spool })
  const latencies: number[] = []
  for await (const output of outputOf(agent)) {
    if (output.kind === 'record') latencies.push(latencyMs(output.record))
  }
  return latencies
}

function throughPipe(root: string): Promise<number[]> {
  const child = spawn(process.execPath, ARGS, { cwd: root, env: ENV, stdio: ['ignore', 'pipe', 'ignore'] })
  const framer = new NdjsonFramer()
  const latencies: number[] = []
  child.stdout.on('data', (chunk: Buffer) => {
    for (const record of framer.push(chunk)) latencies.push(latencyMs(record))
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => resolve(latencies))
  })
}

function latencyMs(record: NdjsonRecord): number {
  const now = Number(process.hrtime.bigint())
  if (record.kind !== 'json') throw new Error(`a ${record.kind} record in the stamped lines`)
  return (now - (record.value as { at: number }).at) / 1e6
}

function percentiles(values: number[]): Percentiles {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}
