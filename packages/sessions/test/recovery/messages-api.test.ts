import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { UIEvent } from '@chirality/core'
import { findByMarker, MessagesApiHarness } from '@chirality/runner'
import type { ScriptedModel } from '@chirality/scripted-model'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isAside } from '../../src/recovery/match-events.ts'
import { type Bundle, bundle } from '../support/bundle.ts'
import { eventsOf, useHostWorld } from '../support/host-world.ts'
import type { MessagesApiHostOptions } from './messages-api-host.ts'

// The loop of this agent is part of the host. What a killed host leaves are its commands, its raw log and the transcript.

const world = useHostWorld()
let program: Bundle
beforeAll(async () => {
  program = await bundle('test/recovery/messages-api-host.ts')
})
afterAll(() => program.remove())

test('a host is killed in a command: the next one ends the command, and the log has all that was done, once', async () => {
  const model = await world.model(SCRIPT())
  const { id, host } = await killedInCommand(model)
  expect((await findByMarker(world.marker)).length).toBeGreaterThan(1)
  const whole = loggedLines(id)

  const report = await host.openProject(world.project)
  expect(report).toMatchObject({ adopted: [id], closed: [], problems: [] })
  const session = await host.session(id)
  await session.settled()
  expect(await findByMarker(world.marker)).toEqual([])
  const events = eventsOf(session)
  expect(events.filter(({ type }) => type === 'turn:start')).toHaveLength(1)
  expect(events.filter(({ type }) => type === 'turn:end')).toMatchObject([{ reason: 'crashed' }])
  expect(loggedLines(id).slice(0, whole.length)).toEqual(whole)
  expect(readdirSync(world.file('state', 'turns'))).toEqual([])

  await session.send('And now?', {})
  await session.settled()
  expect(session.status).toMatchObject({ phase: 'idle', lastTurn: 'completed' })
  const answers = eventsOf(session).filter(({ type }) => type === 'chat:complete')
  expect(answers.at(-1)).toMatchObject({ text: 'Here again.' })
})

test.each([
  ['ends between two lines', 0, 0],
  ['ends within a line: what was torn is told again and no gap', 0.9, 0],
  ['ends before a line says what it is', 0.05, 1],
])('events that the log lacks are read from the raw log: it %s', async (_where, torn, gaps) => {
  const model = await world.model(SCRIPT())
  const { id, host } = await killedInCommand(model)
  const whole = loggedLines(id)
  const began = whole.findIndex(line => line.includes('"turn:start"')) + 1
  const next = whole[began] ?? ''
  writeFileSync(logOf(id), whole.slice(0, began).join('') + next.slice(0, torn * next.length))
  // It is written seconds later than the lines.
  rmSync(world.file('events', `${id}.idx`), { force: true })
  await host.openProject(world.project)
  const session = await host.session(id)
  await session.settled()
  const before = whole.map(line => (JSON.parse(line) as { event: UIEvent }).event)
  const events = firm(eventsOf(session))
  expect(events.slice(0, firm(before).length)).toEqual(firm(before))
  expect(eventsOf(session).filter(({ type }) => type === 'log:gap')).toHaveLength(gaps)
  expect(events.filter(({ type }) => type === 'tool:start')).toHaveLength(1)
  expect(events.at(-1)).toMatchObject({ type: 'turn:end', reason: 'crashed' })
})

const SCRIPT = () => ({
  answers: [
    { text: 'I look at it.', chunkChars: 3, tool: 'bash', input: { command: endless() } },
    'Here again.',
  ],
})

/** One in the command's group, one in a group of its own, and the command. */
function endless(): string {
  return `sleep 600 & set -m; sleep 600 & touch ${join(world.project, 'started')}; sleep 600`
}

async function killedInCommand(model: ScriptedModel) {
  const environment = world.environment(model)
  const host = world.host([new MessagesApiHarness({ environment })])
  const { id: sessionId } = await host.createSession(world.project, { harness: 'messages-api' })
  await host.close()
  await killInCommand({ project: world.project, data: world.data, sessionId, environment })
  return { id: sessionId, host: world.host([new MessagesApiHarness({ environment })]) }
}

async function killInCommand(options: MessagesApiHostOptions): Promise<void> {
  const { PATH, HOME, TMPDIR } = options.environment
  const env = { PATH, HOME, TMPDIR }
  const args = [program.file, JSON.stringify(options)]
  const killed = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  world.atEnd(async () => void killed.kill('SIGKILL'))
  let errors = ''
  killed.stderr.on('data', chunk => {
    errors += String(chunk)
  })
  const exited = once(killed, 'close')
  const toolStarted = () => loggedLines(options.sessionId).some(line => line.includes('"tool:start"'))
  while (!existsSync(join(world.project, 'started')) || !toolStarted()) {
    if (killed.exitCode !== null) throw new Error(`the host ended first: ${errors}`)
    await pause(20)
  }
  killed.kill('SIGKILL')
  await exited
}

function logOf(sessionId: string): string {
  return world.file('events', `${sessionId}.ndjson`)
}

/** Whole ones, each with its end. */
function loggedLines(sessionId: string): string[] {
  return existsSync(logOf(sessionId)) ? (readFileSync(logOf(sessionId), 'utf8').match(/[^\n]*\n/g) ?? []) : []
}

/** Without what others say between, and pieces, which a log may join. */
function firm(events: UIEvent[]): UIEvent[] {
  const isPiece = ({ type }: UIEvent) =>
    type === 'chat:delta' || type === 'chat:thinking' || type === 'tool:input'
  return events.filter(event => !isAside(event) && !isPiece(event))
}
