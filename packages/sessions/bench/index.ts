import { mkdirSync, mkdtempSync, rmSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { performance } from 'node:perf_hooks'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { UIEvent } from '@chirality/core'
import { type BenchRow, benchRow, reportBench } from '../../core/bench/report.ts'
import { openSessionLog, SessionStore } from '../src/index.ts'
import { BENCH_SESSION, benchEvent, largeEvent, streamedEvent } from './events.ts'
import { median, runVariant, spread } from './measure.ts'
import { loadSqlite } from './sqlite.ts'

const ROUNDS = 7
/** How many events each variant appends. */
const APPENDED: Record<string, number> = {
  log: 500_000,
  bare: 500_000,
  stream: 500_000,
  'append-file': 10_000,
}

const hasSqlite = (await loadSqlite()) !== undefined
if (hasSqlite) APPENDED.sqlite = 500_000

const OF_SQLITE = 'append, a line an event, of batched SQLite'
const folder = mkdtempSync(path.join(os.tmpdir(), 'chirality-bench-'))
try {
  reportBench('@chirality/sessions', [
    ...(await appendRows()),
    await latencyRow(),
    ...(await openRows()),
    await tailRow(),
    ...(await listRows()),
    ...(await searchRows()),
  ])
  if (!hasSqlite)
    console.log(`not measured  ${OF_SQLITE}: ${process.version} has no node:sqlite, 22.5 and later do`)
} finally {
  rmSync(folder, { recursive: true })
}

async function appendRows(): Promise<BenchRow[]> {
  const rates: Record<string, number[]> = {}
  for (let round = 0; round < ROUNDS; round += 1) {
    // The order rotates, so that whatever else the machine does hits all of them alike.
    const names = Object.keys(APPENDED)
    for (const name of [...names.slice(round % names.length), ...names.slice(0, round % names.length)]) {
      const root = project(`append-${name}-${round}`)
      const events = APPENDED[name] ?? 0
      const { ms = Number.NaN } = await runVariant(name, root, String(events))
      rates[name] = [...(rates[name] ?? []), (events / ms) * 1000]
      rmSync(root, { recursive: true })
    }
  }
  const row = (name: string, { of, against, bar }: { of: string; against: string; bar: number }) => {
    const ratios = (rates[of] ?? []).map((rate, round) => rate / (rates[against]?.[round] ?? Number.NaN))
    const perSecond = (variant: string) => `${Math.round(median(rates[variant] ?? []) / 1000)}k/s`
    const detail = `${spread(ratios)}; ${perSecond(of)} against ${perSecond(against)}`
    return benchRow({ name, ratio: median(ratios), bar, better: 'higher', detail })
  }
  return [
    row('append, a line an event, of bare batched writes', { of: 'log', against: 'bare', bar: 0.5 }),
    row('append what an agent streams, of appendFile per event', {
      of: 'stream',
      against: 'append-file',
      bar: 50,
    }),
    ...(hasSqlite ? [row(OF_SQLITE, { of: 'log', against: 'sqlite', bar: 2 })] : []),
  ]
}

async function latencyRow(): Promise<BenchRow> {
  const log = await openSessionLog(project('latency'), BENCH_SESSION)
  const reader = log.subscribe(0)
  const latencies: number[] = []
  for (let n = 0; n < 300; n += 1) {
    // Idle long enough for everything of the last event to be over, its sync included.
    await setTimeout(10)
    const seen = reader.next()
    const start = performance.now()
    log.append(benchEvent(n), { turnId: 'turn-1' })
    await seen
    latencies.push(performance.now() - start)
  }
  await reader.return?.()
  await log.close()
  return benchRow({
    name: 'append to subscriber when idle, p50 in ms',
    ratio: median(latencies),
    bar: 2,
    better: 'lower',
    detail: `p99 ${latencies.toSorted((a, b) => a - b)[297]?.toFixed(2)} ms`,
  })
}

async function openRows(): Promise<BenchRow[]> {
  const root = project('open')
  await fill(root, BENCH_SESSION, { events: 200_000, event: largeEvent })
  const rows: BenchRow[] = []
  for (const sidecar of ['with', 'without']) {
    const samples: { ms: number; megabytes: number }[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      if (sidecar === 'without') unlinkSync(path.join(root, '.chirality/events', `${BENCH_SESSION}.idx`))
      const { ms = Number.NaN, megabytes = Number.NaN } = await runVariant('open', root, BENCH_SESSION)
      samples.push({ ms, megabytes })
    }
    const times = samples.map(({ ms }) => ms)
    const sizes = samples.map(({ megabytes }) => megabytes)
    rows.push(
      benchRow({
        name: `open 200 MB / 200k events to a state of the last 200, ${sidecar} its index, in ms`,
        ratio: median(times),
        bar: sidecar === 'with' ? 300 : 1000,
        better: 'lower',
        detail: spread(times, 0),
      }),
      benchRow({
        name: `memory that takes, ${sidecar} its index, in MB`,
        ratio: median(sizes),
        bar: 100,
        better: 'lower',
        detail: spread(sizes, 0),
      }),
    )
  }
  return rows
}

async function tailRow(): Promise<BenchRow> {
  const root = project('tail')
  await fill(root, 'short', { events: 10_000, event: benchEvent })
  await fill(root, 'long', { events: 1_000_000, event: benchEvent })
  const times: Record<string, number[]> = { short: [], long: [] }
  for (let round = 0; round < 60; round += 1) {
    for (const id of round % 2 === 0 ? ['short', 'long'] : ['long', 'short']) {
      const start = performance.now()
      const log = await openSessionLog(root, id)
      log.readLast(200)
      times[id]?.push(performance.now() - start)
      await log.close()
    }
  }
  const [short, long] = [median(times.short ?? []), median(times.long ?? [])]
  return benchRow({
    name: 'open and read the tail, 1,000,000 events to 10,000',
    ratio: long / short,
    bar: 1.5,
    better: 'lower',
    detail: `${long.toFixed(2)} ms to ${short.toFixed(2)} ms`,
  })
}

async function listRows(): Promise<BenchRow[]> {
  const root = project('list')
  const home = path.join(folder, 'home')
  const store = new SessionStore({ home })
  const template = await store.create(root, null, 'direct', { title: 'A session among many' })
  for (let n = 0; n < 9_999; n += 1) {
    const id = `session-${n}`
    const updatedAt = new Date(Date.UTC(2026, 0, 1) + n * 60_000)
    const file = path.join(root, '.chirality/sessions', `${id}.json`)
    writeFileSync(file, JSON.stringify({ ...template, id, updatedAt: updatedAt.toISOString() }))
    utimesSync(file, updatedAt, updatedAt)
  }
  const samples: Record<string, number>[] = []
  for (let round = 0; round < ROUNDS; round += 1) samples.push(await runVariant('list', root, home))
  const row = (name: string, values: number[]) =>
    benchRow({ name, ratio: median(values), bar: 200, better: 'lower', detail: spread(values, 1) })
  return [
    row(
      'first page of 10,000 sessions in a new process, in ms',
      samples.map(({ firstMs = Number.NaN }) => firstMs),
    ),
    row(
      'the same again, in ms',
      samples.map(({ againMs = Number.NaN }) => againMs),
    ),
  ]
}

async function searchRows(): Promise<BenchRow[]> {
  const root = project('search')
  const home = path.join(folder, 'search-home')
  // Ten sessions of about 10 MB each.
  for (let n = 0; n < 10; n += 1) await fill(root, `session-${n}`, { events: 36_000, event: streamedEvent })
  const rows: BenchRow[] = []
  // What is nowhere, so that all is read; what every output of a tool has; a word in another script; a word of the keys.
  for (const query of ['heron', 'OUTPUT', 'цапля', 'content']) {
    const samples: Record<string, number>[] = []
    for (let round = 0; round < ROUNDS; round += 1)
      samples.push(await runVariant('search', root, home, query))
    const times = samples.map(({ ms = Number.NaN }) => ms)
    const [{ hits = Number.NaN, megabytes = Number.NaN } = {}] = samples
    rows.push(
      benchRow({
        name: `search 100 MB of logs for ${query}, in ms`,
        ratio: median(times),
        bar: 1000,
        better: 'lower',
        detail: `${spread(times, 0)}; ${hits} hits, ${Math.round(megabytes)} MB of memory`,
      }),
    )
  }
  return rows
}

async function fill(
  root: string,
  id: string,
  { events, event }: { events: number; event: (n: number) => UIEvent },
): Promise<void> {
  const log = await openSessionLog(root, id)
  for (let n = 0; n < events; n += 1) {
    log.append(event(n), { turnId: 'turn-1' })
    if (n % 500 === 0) await setImmediate()
  }
  await log.close()
}

function project(name: string): string {
  const root = path.join(folder, name)
  mkdirSync(root)
  return root
}
