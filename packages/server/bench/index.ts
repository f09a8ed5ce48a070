import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BenchRow, benchRow, reportBench } from '../../core/bench/report.ts'
import { BenchServer, type Variant } from './bench-server.ts'

const ROUNDS = 3
const LOAD_SECONDS = 3
const FLUSH_WINDOW_MS = 16
const CATCH_UP_EVENTS = 100_000
const MB = 1024 * 1024

reportBench('@chirality/server', [
  await idleLatencyRow(),
  ...(await loadRows(50, { lateMs: 5, cpu: 1.4 })),
  ...(await loadRows(200, { lateMs: 15, cpu: 1.6 })),
  ...(await catchUpRows()),
  ...(await clientRows()),
  ...idleRows(),
])

interface Load {
  latencies: number[]
  cpuMs: number
  expected: number
}

async function load(variant: Variant, sessions: number, perSecond: number): Promise<Load> {
  const server = await BenchServer.open(variant)
  await server.connect(1, sessions)
  const { cpuMs = Number.NaN } = await server.send({ do: 'emit', sessions, perSecond, seconds: LOAD_SECONDS })
  const { latencies } = server
  await server.close()
  return { latencies, cpuMs, expected: sessions * perSecond * LOAD_SECONDS }
}

async function idleLatencyRow(): Promise<BenchRow> {
  const ratios: number[] = []
  let detail = ''
  for (let round = 0; round < ROUNDS; round += 1) {
    const raw = percentile((await load('raw', 1, 20)).latencies, 0.5)
    const ours = percentile((await load('ours', 1, 20)).latencies, 0.5)
    ratios.push(ours / raw)
    detail = `p50 ${ours.toFixed(2)} ms against ${raw.toFixed(2)} ms of bare ws`
  }
  return benchRow({
    name: 'idle: log to client, of bare ws',
    ratio: median(ratios),
    bar: 2,
    better: 'lower',
    detail,
  })
}

async function loadRows(sessions: number, bars: { lateMs: number; cpu: number }): Promise<BenchRow[]> {
  const late: number[] = []
  const cpu: number[] = []
  const lost: number[] = []
  let detail = ''
  for (let round = 0; round < ROUNDS; round += 1) {
    const raw = await load('raw', sessions, 100)
    const ours = await load('ours', sessions, 100)
    const [rawP99, oursP99] = [percentile(raw.latencies, 0.99), percentile(ours.latencies, 0.99)]
    late.push((oursP99 - FLUSH_WINDOW_MS) / Math.max(bars.lateMs, 3 * rawP99))
    cpu.push(ours.cpuMs / raw.cpuMs)
    lost.push(ours.expected - ours.latencies.length)
    detail = `p99 ${oursP99.toFixed(1)} ms with the window of ${FLUSH_WINDOW_MS}, bare ws ${rawP99.toFixed(1)} ms`
  }
  const name = `${sessions} sessions × 100/s`
  return [
    benchRow({
      name: `${name}: p99 without the window`,
      ratio: median(late),
      bar: 1,
      better: 'lower',
      detail,
    }),
    benchRow({
      name: `${name}: CPU, of bare ws`,
      ratio: median(cpu),
      bar: bars.cpu,
      better: 'lower',
      detail: spread(cpu),
    }),
    benchRow({ name: `${name}: events lost`, ratio: Math.max(...lost), bar: 0, better: 'lower', detail: '' }),
  ]
}

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

function percentile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

function median(values: number[]): number {
  return percentile(values, 0.5)
}

function spread(values: number[]): string {
  return `${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)}`
}
