// One measured piece of work in a process of its own: `variants.ts NAME ARG…` prints its result as JSON.
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import path from 'node:path'
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { initialSessionState, reduceSession, type UIEvent } from '@chirality/core'
import { openSessionLog, type SessionLogOptions, SessionStore, searchSessions } from '../src/index.ts'
import { BENCH_SESSION, benchEvent, streamedEvent } from './events.ts'
import { loadSqlite } from './sqlite.ts'

/** As many events as one read of 64 KB from a spool holds. */
const BURST = 250

const [name = '', ...args] = process.argv.slice(2)
const variants: Record<string, () => Promise<Record<string, number>>> = {
  log: () => appendToLog(benchEvent, {}),
  stream: () => appendToLog(streamedEvent),
  bare: bareWrites,
  'append-file': appendFiles,
  sqlite: sqliteBatches,
  open: openAndShow,
  list: () => listSessions(args[1] ?? ''),
  search: () => search(args[1] ?? '', args[2] ?? ''),
}
console.log(JSON.stringify(await variants[name]?.()))

async function appendToLog(event: (n: number) => UIEvent, options?: SessionLogOptions) {
  const events = Number(args[1])
  const log = await openSessionLog(args[0] ?? '', BENCH_SESSION, options)
  return timed(async () => {
    for (let n = 0; n < events; n += BURST) {
      for (let i = 0; i < BURST; i += 1) log.append(event(n + i), { turnId: 'turn-1' })
      await setImmediate()
    }
    await log.close()
  })
}

/** The least that has to be done: text of a burst, one write, and the disk at the end. */
async function bareWrites() {
  const events = Number(args[1])
  const fd = openSync(path.join(args[0] ?? '', 'bare.ndjson'), 'a')
  return timed(async () => {
    for (let n = 0; n < events; n += BURST) {
      let lines = ''
      for (let i = 0; i < BURST; i += 1) lines += `${line(n + i, benchEvent)}\n`
      writeSync(fd, lines)
      await setImmediate()
    }
    fdatasyncSync(fd)
    closeSync(fd)
  })
}

/** As SQLite is fastest without losing what it has taken: its own log, and a transaction a burst. */
async function sqliteBatches() {
  const Database = await loadSqlite()
  if (Database === undefined) throw new Error('This Node has no node:sqlite.')
  const events = Number(args[1])
  const database = new Database(path.join(args[0] ?? '', 'bench.sqlite'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  database.exec('CREATE TABLE events (seq INTEGER PRIMARY KEY, line TEXT NOT NULL)')
  const insert = database.prepare('INSERT INTO events VALUES (?, ?)')
  return timed(async () => {
    for (let n = 0; n < events; n += BURST) {
      database.exec('BEGIN')
      for (let i = 0; i < BURST; i += 1) insert.run(n + i + 1, line(n + i, benchEvent))
      database.exec('COMMIT')
      await setImmediate()
    }
    database.close()
  })
}

async function appendFiles() {
  const events = Number(args[1])
  const file = path.join(args[0] ?? '', 'append-file.ndjson')
  return timed(async () => {
    for (let n = 0; n < events; n += 1) await appendFile(file, `${line(n, streamedEvent)}\n`)
  })
}

function line(n: number, event: (n: number) => UIEvent): string {
  const at = new Date().toISOString()
  return JSON.stringify({ seq: n + 1, at, sessionId: BENCH_SESSION, turnId: 'turn-1', event: event(n) })
}

async function openAndShow() {
  const before = process.memoryUsage.rss()
  const { ms } = await timed(async () => {
    const log = await openSessionLog(args[0] ?? '', args[1] ?? '')
    reduceSession(initialSessionState(log.sessionId), log.readLast(200))
  })
  return { ms, megabytes: (process.memoryUsage.rss() - before) / 1e6 }
}

async function listSessions(home: string) {
  const store = new SessionStore({ home })
  const first = await timed(() => store.page({ projectRoot: args[0] ?? '' }))
  const again = await timed(() => store.page({ projectRoot: args[0] ?? '' }))
  return { firstMs: first.ms, againMs: again.ms }
}

async function search(home: string, query: string) {
  const before = process.memoryUsage.rss()
  let hits = 0
  const { ms } = await timed(async () => {
    hits = (await searchSessions({ projectRoot: args[0] ?? '', home, query })).hits.length
  })
  return { ms, hits, megabytes: (process.memoryUsage.rss() - before) / 1e6 }
}

async function timed(work: () => Promise<unknown>): Promise<{ ms: number; cpuMs: number }> {
  const start = performance.now()
  const cpuStart = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(cpuStart)
  return { ms: performance.now() - start, cpuMs: (user + system) / 1000 }
}
