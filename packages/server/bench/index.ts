// `pnpm bench [group …]`: follow-up, answers, load, clients, snapshots; all of them by default. `snapshots --turns=500`.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BenchRow, benchRow, reportBench } from '../../core/bench/report.ts'
import { BenchServer, type Variant } from './bench-server.ts'
import { bigAnswerRows, reopenRows } from './big-answers.ts'
import { endToEndRows } from './end-to-end/rows.ts'
import { followUpRows } from './follow-up/rows.ts'
import { snapshotRows } from './snapshots.ts'
import { median, percentile, spread } from './statistics.ts'

const ROUNDS = 3
const CATCH_UP_EVENTS = 100_000
const MB = 1024 * 1024

const GROUPS: Readonly<Record<string, () => Promise<BenchRow[]>>> = {
  'follow-up': followUpRows,
  answers: async () => [...(await bigAnswerRows()), ...(await reopenRows())],
  load: endToEndRows,
  clients: async () => [...(await catchUpRows()), ...(await clientRows()), ...idleRows()],
  snapshots: snapshotRows,
}

const wanted = process.argv.slice(2).filter(word => !word.startsWith('--'))
const rows: BenchRow[] = []
for (const [name, measure] of Object.entries(GROUPS))
  if (wanted.length === 0 || wanted.includes(name)) rows.push(...(await measure()))
reportBench('@chirality/server', rows)

async function catchUpRows(): Promise<BenchRow[]> {
  const times: Record<Variant, number[]> = { ours: [], raw: [], naive: [] }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const variant of ['raw', 'ours', 'naive'] as const) {
      const server = await BenchServer.open(variant)
      await server.send({ do: 'fill', events: CATCH_UP_EVENTS })
      times[variant].push(await server.readAll(CATCH_UP_EVENTS))
      await server.close()
    }
  }
  const against = (other: Variant) => times[other].map((ms, round) => ms / (times.ours[round] ?? Number.NaN))
  const rate = (variant: Variant) => `${((median(times[variant]) * 1000) / CATCH_UP_EVENTS).toFixed(1)} µs`
  const row = (name: string, other: Variant, bar: number) => {
    const detail = `${rate('ours')} of CPU an event against ${rate(other)}; ${spread(against(other))}`
    return benchRow({ name, ratio: median(against(other)), bar, better: 'higher', detail })
  }
  return [
    row('catch up 100,000 events, of bare batched ws', 'raw', 0.5),
    row('tRPC hop, of one tracked yield per event', 'naive', 5),
  ]
}

async function clientRows(): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const [clients, bar] of [
    [200, 250],
    [1000, 2000],
  ] as const) {
    const server = await BenchServer.open('ours')
    await server.connect(clients, 1)
    await server.send({ do: 'emit', sessions: 1, perSecond: 20, seconds: 3 })
    const p99 = percentile(server.latencies, 0.99)
    const { rssBytes = Number.NaN } = await server.send({ do: 'usage' })
    await server.close()
    const detail = `p99 ${p99.toFixed(0)} ms, ${server.latencies.length} deliveries`
    rows.push(
      benchRow({
        name: `${clients} clients of one session: p99 / ${bar} ms`,
        ratio: p99 / bar,
        bar: 1,
        better: 'lower',
        detail,
      }),
    )
    if (clients < 1000) continue
    const memory = `${Math.round(rssBytes / MB)} MB, with the loader of the benchmark`
    rows.push(
      benchRow({
        name: '1,000 clients: memory / 300 MB',
        ratio: rssBytes / (300 * MB),
        bar: 1,
        better: 'lower',
        detail: memory,
      }),
    )
  }
  return rows
}

function idleRows(): BenchRow[] {
  const folder = mkdtempSync(path.join(tmpdir(), 'chirality-bench-'))
  mkdirSync(path.join(folder, 'project'))
  const program = fileURLToPath(new URL('idle-server.mjs', import.meta.url))
  try {
    execFileSync(process.execPath, [program, folder, 'fill'])
    const output = execFileSync(process.execPath, [program, folder], { encoding: 'utf8' })
    const { rssBytes, cpu } = JSON.parse(output) as { rssBytes: number; cpu: number }
    const size = `${Math.round(rssBytes / MB)} MB`
    return [
      benchRow({
        name: 'idle with 1,000 sessions: memory / 120 MB',
        ratio: rssBytes / (120 * MB),
        bar: 1,
        better: 'lower',
        detail: size,
      }),
      benchRow({
        name: 'idle with 1,000 sessions: CPU / 1 %',
        ratio: cpu / 0.01,
        bar: 1,
        better: 'lower',
        detail: `${(cpu * 100).toFixed(2)} %`,
      }),
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
