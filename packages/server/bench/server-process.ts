// The server side of the benchmarks, in a process of its own so that its CPU time and memory are its own.
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Envelope, SessionHarness, UIEvent } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import type { SessionLog } from '@chirality/sessions'
import { initTRPC, tracked } from '@trpc/server'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { type WebSocket, WebSocketServer } from 'ws'
import { z } from 'zod'
import { startServer } from '../src/index.ts'
import type { Command, Reply } from './protocol.ts'

const BATCH = 512
const MAX_SESSIONS = 200

const [variant = 'ours', folder = ''] = process.argv.slice(2)
const logs: SessionLog[] = []
const sockets = new Set<WebSocket>()
const stored: Envelope[] = []

process.on('message', (command: Command) => {
  void run(command).then(reply => process.send?.(reply))
})
process.send?.(variant === 'ours' ? await startOurs() : await startPlain())

async function startOurs(): Promise<Reply> {
  mkdirSync(`${folder}/project`)
  const { url, token, host } = await startServer({
    ...{ harnesses: new HarnessRegistry<SessionHarness>(), projects: [`${folder}/project`] },
    ...{ home: `${folder}/home`, port: 0, limits: { handshakesPerSecond: 1e6 } },
  })
  for (let i = 0; i < MAX_SESSIONS; i += 1) {
    const { id } = await host.createSession(`${folder}/project`)
    logs.push((await host.session(id)).log)
  }
  return { url: url.replace('http', 'ws'), token, sessionIds: logs.map(log => log.sessionId) }
}

/** The limit: `ws` and nothing else. With `naive`, tRPC as its manual shows it. */
async function startPlain(): Promise<Reply> {
  const server = createServer()
  const wss = new WebSocketServer({ server, perMessageDeflate: false })
  wss.on('connection', socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    if (variant === 'raw') socket.on('message', data => String(data) === 'all' && sendAll(socket))
  })
  if (variant === 'naive') serveNaive(wss)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, token: '', sessionIds: [] }
}

function serveNaive(wss: WebSocketServer): void {
  const t = initTRPC.create()
  const events = t.procedure.input(z.unknown()).subscription(async function* () {
    for (const envelope of stored) yield tracked(String(envelope.seq), envelope)
  })
  applyWSSHandler({ wss, router: t.router({ session: t.router({ events }) }) })
}

function sendAll(socket: WebSocket): void {
  for (let i = 0; i < stored.length; i += BATCH) socket.send(JSON.stringify(stored.slice(i, i + BATCH)))
}

async function run(command: Command): Promise<Reply> {
  switch (command.do) {
    case 'fill':
      return fill(command.events)
    case 'emit':
      return emit(command)
    case 'usage': {
      const { user, system } = process.cpuUsage()
      return { rssBytes: process.memoryUsage.rss(), cpuMs: (user + system) / 1000 }
    }
  }
}

async function fill(events: number): Promise<Reply> {
  const [log] = logs
  for (let seq = 1; seq <= events; seq += 1) {
    const event = stamped(log?.sessionId ?? 'session')
    if (log) log.append(event, { turnId: null })
    else stored.push({ seq, at: new Date().toISOString(), sessionId: 'session', turnId: null, event })
    if (seq % 1000 === 0) await new Promise(resolve => setImmediate(resolve))
  }
  await log?.flush()
  return {}
}

/** So many sessions, each with an event every 10 ms or slower, stamped with the time. */
async function emit({ sessions, perSecond, seconds }: Extract<Command, { do: 'emit' }>): Promise<Reply> {
  const cpu = process.cpuUsage()
  const started = performance.now()
  let done = 0
  const total = perSecond * seconds
  while (done < total) {
    const due = Math.min(total, Math.floor(((performance.now() - started) / 1000) * perSecond))
    for (; done < due; done += 1) for (let s = 0; s < sessions; s += 1) emitOne(s)
    await new Promise(resolve => setTimeout(resolve, 1))
  }
  // What is still on its way is work of this run.
  await new Promise(resolve => setTimeout(resolve, 100))
  const { user, system } = process.cpuUsage(cpu)
  return { cpuMs: (user + system) / 1000 }
}

function emitOne(session: number): void {
  const log = logs[session]
  if (log !== undefined) log.append(stamped(log.sessionId), { turnId: null })
  else for (const socket of sockets) socket.send(JSON.stringify([{ event: stamped('session') }]))
}

function stamped(sessionId: string): UIEvent {
  const at = performance.timeOrigin + performance.now()
  return {
    type: 'status',
    sessionId,
    status: 'notice',
    level: 'info',
    message: 'x'.repeat(120),
    data: { at },
  }
}
