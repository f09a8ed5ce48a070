import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { UIEvent } from '@chirality/core'
import { MARKER_VARIABLE } from '@chirality/runner'
import { expect, test } from 'vitest'
import { openSessionLog } from '../../src/log/open-logs.ts'
import { permissionRequest } from '../decisions/permission-request.ts'
import { eventsOf, untilEvent, useHostWorld } from '../support/host-world.ts'
import { answers, ScriptedHarness, waits } from '../support/scripted-harness.ts'

const world = useHostWorld()

/** A turn that was at work, says its record, and a message behind it that waits for nothing but its end. */
async function leaveAtWork(marker = 'nobody-has-this', more: object = {}): Promise<string> {
  const host = world.host([])
  const { id } = await host.createSession(world.project, { harness: 'scripted' })
  await host.close()
  const at = '2026-01-01T00:00:00.000Z'
  const spoolPath = world.file('logs', 'scripted', 'spool.ndjson')
  const trace = { pid: 2 ** 22 - 1, startTime: '1', marker, stderrPath: spoolPath }
  write('turns', id, {
    turnId: 'turn-1',
    startedAt: at,
    message: 'One',
    harness: 'scripted',
    afterSeq: 0,
    budget: {},
    processes: [{ ...trace, spoolPath, spoolOffset: 0 }],
    ...more,
  })
  const queued = { id: 'message-2', message: 'Two', queuedAt: at, request: {} }
  write('queue', id, { held: false, sending: null, messages: [queued] })
  return id
}

function write(kind: string, id: string, value: unknown): void {
  const folder = world.file('state', kind)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${id}.json`), JSON.stringify(value))
}

function adopting(): ScriptedHarness {
  return new ScriptedHarness([answers('Two.')], {
    async *adoptTurn({ id: sessionId }, { message }): AsyncGenerator<UIEvent> {
      yield { type: 'turn:start', sessionId, message }
      yield { type: 'turn:end', sessionId, reason: 'completed' }
    },
  })
}

test('a turn of our own is found again, and what waits behind it is sent', async () => {
  const id = await leaveAtWork()
  const harness = adopting()
  const host = world.host([harness])
  expect(await host.openProject(world.project)).toMatchObject({ adopted: [id] })
  await (await host.session(id)).settled()
  expect(harness.turns.map(({ message }) => message)).toEqual(['Two'])
})

test.each([
  ['how long a request may wait', 1],
  ['what is no time, as something that nobody is to wait for', 'for ever'],
])('a turn that is found again keeps %s', async (_name, decisionTimeoutMs) => {
  const id = await leaveAtWork(undefined, { decisionTimeoutMs })
  const decided: unknown[] = []
  const harness = new ScriptedHarness([answers('Two.')], {
    async *adoptTurn({ id: sessionId }, { message }, opts): AsyncGenerator<UIEvent> {
      yield { type: 'turn:start', sessionId, message }
      const request = permissionRequest({ sessionId })
      decided.push(await opts?.decide?.(request, new AbortController().signal))
      yield { type: 'turn:end', sessionId, reason: 'completed' }
    },
  })
  const host = world.host([harness])
  await host.openProject(world.project)
  await (await host.session(id)).settled()
  expect(decided).toMatchObject([{ behavior: 'deny', by: 'timeout' }])
})

test('the record of a turn says how long its requests wait', async () => {
  let end = (_reason: 'completed') => {}
  const harness = new ScriptedHarness([waits(new Promise(resolve => (end = resolve)))])
  const host = world.host([harness])
  const { id } = await host.createSession(world.project, { harness: 'scripted' })
  const session = await host.session(id)
  await session.start('One', { decisionTimeoutMs: 60_000 })
  const record = readFileSync(world.file('state', 'turns', `${id}.json`), 'utf8')
  expect(JSON.parse(record)).toMatchObject({ decisionTimeoutMs: 60_000 })
  end('completed')
  await session.settled()
})

test('files that came with a project run nothing: no turn is found again, and what waits needs a person', async () => {
  const id = await leaveAtWork()
  // The user of this data folder has never had the session.
  rmSync(world.data, { recursive: true, force: true })
  const harness = adopting()
  const host = world.host([harness])
  expect(await host.openProject(world.project)).toMatchObject({ adopted: [], problems: [] })
  const session = await host.session(id)
  await session.settled()
  expect(session.status).toMatchObject({ phase: 'idle', queueHeld: true, queue: [{ message: 'Two' }] })
  expect(harness.turns).toEqual([])
})

/** What an agent would be: a process with the marker of the turn on record. */
async function startMarked(): Promise<{ agent: ChildProcess; gone: Promise<unknown> }> {
  const agent = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => {}, 1000)'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
    env: { PATH: process.env.PATH, [MARKER_VARIABLE]: world.marker },
  })
  const gone = once(agent, 'exit')
  if (agent.stdout) await once(agent.stdout, 'data')
  return { agent, gone }
}

test('a turn of a harness that this host does not know is left alone, and told; to delete it stops it', async () => {
  const id = await leaveAtWork(world.marker)
  const { agent, gone } = await startMarked()
  const host = world.host([])
  const report = await host.openProject(world.project)
  expect(report).toMatchObject({ adopted: [], closed: [], stopped: 0 })
  expect(report.problems).toEqual([{ sessionId: id, message: expect.stringContaining('scripted') }])
  expect(existsSync(world.file('state', 'turns', `${id}.json`))).toBe(true)
  expect(agent.exitCode ?? agent.signalCode).toBeNull()
  await expect(host.session(id)).rejects.toMatchObject({ code: 'unsupported' })
  await host.deleteSession(id)
  await gone
})

test('an agent whose session is gone altogether is stopped', async () => {
  const id = await leaveAtWork(world.marker)
  const { gone } = await startMarked()
  rmSync(world.data, { recursive: true, force: true })
  for (const kind of ['sessions', 'events']) rmSync(world.file(kind), { recursive: true, force: true })
  const report = await world.host([adopting()]).openProject(world.project)
  await gone
  expect(report).toMatchObject({ adopted: [], stopped: 1, problems: [{ sessionId: id }] })
  expect(existsSync(world.file('state', 'turns', `${id}.json`))).toBe(false)
})

test('to close a turn that was left open does not take the record of the one that is at work', async () => {
  const id = await leaveAtWork()
  const log = await openSessionLog(world.project, id)
  log.append({ type: 'turn:start', sessionId: id, message: 'Zero' }, { turnId: 'turn-0' })
  await log.close()
  let end = () => {}
  const ended = new Promise<void>(resolve => (end = resolve))
  const harness = new ScriptedHarness([answers('Two.')], {
    async *adoptTurn({ id: sessionId }, { message }): AsyncGenerator<UIEvent> {
      yield { type: 'turn:start', sessionId, message }
      await ended
      yield { type: 'turn:end', sessionId, reason: 'completed' }
    },
  })
  const host = world.host([harness])
  await host.openProject(world.project)
  const session = await host.session(id)
  await untilEvent(session, event => event.type === 'turn:start' && event.message === 'One')
  expect(existsSync(world.file('state', 'turns', `${id}.json`))).toBe(true)
  end()
  await session.settled()
  const ends = eventsOf(session).flatMap(event => (event.type === 'turn:end' ? [event.reason] : []))
  expect(ends).toEqual(['crashed', 'completed', 'completed'])
  expect(existsSync(world.file('state', 'turns', `${id}.json`))).toBe(false)
})
