import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { SessionLog } from '../../src/log/session-log.ts'
import { type Bundle, bundle } from './bundle.ts'
import { numbersIn, seeded } from './events.ts'

const PROGRAM = fileURLToPath(new URL('../programs/append-and-ack.mjs', import.meta.url))

/** What a writer needs. */
export function bundleLog(): Promise<Bundle> {
  return bundle('src/log/open-logs.ts')
}

export interface KillLoopOptions {
  module: string
  projectRoot: string
  kills: number
  seed: number
}

export interface KillReport {
  kills: number
  acknowledged: number
  lost: number[]
  /** Numbers that are there twice, or out of order. */
  misplaced: number[]
}

/** Kills a writer again and again, each time after a random number of acknowledgements, and reads what is left. */
export async function killLoop({ module, projectRoot, kills, seed }: KillLoopOptions): Promise<KillReport> {
  const session = `kill-${seed}`
  const random = seeded(seed)
  const report: KillReport = { kills: 0, acknowledged: 0, lost: [], misplaced: [] }
  const acknowledged: number[] = []
  for (let round = 0; round < kills; round += 1) {
    const first = round * 100_000 + 1
    acknowledged.push(
      ...(await runAndKill([PROGRAM, module, projectRoot, session, String(first)], random(300))),
    )
    report.kills += 1
  }
  const log = await SessionLog.open(projectRoot, session)
  const kept = numbersIn(log.readAfter(0, log.lastSeq, { maxBytes: Number.POSITIVE_INFINITY }))
  await log.shutDown()
  const there = new Set(kept)
  report.acknowledged = acknowledged.length
  report.lost = acknowledged.filter(n => !there.has(n))
  report.misplaced = kept.filter((n, i) => i > 0 && n <= (kept[i - 1] ?? 0))
  return report
}

/** The numbers that were acknowledged before it died. */
function runAndKill(args: string[], after: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    let errors = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (output.split('\n').length > after) child.kill('SIGKILL')
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text
    })
    child.on('error', reject)
    child.on('close', (_, signal) => {
      if (signal !== 'SIGKILL') return reject(new Error(`the writer ended by itself: ${errors}`))
      // A number without its newline was not acknowledged yet.
      resolve(output.split('\n').slice(0, -1).map(Number))
    })
  })
}
