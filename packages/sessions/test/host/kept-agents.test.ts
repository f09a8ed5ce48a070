import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Envelope } from '@chirality/core'
import { findByMarker } from '@chirality/runner'
import { expect, test } from 'vitest'
import type { LiveSession } from '../../src/status/live-session.ts'
import { envelopesOf, untilEvent, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()

test.each(['idle', 'in a turn'])(
  'a session that is deleted %s takes the kept Claude Code with it, and what that started',
  async when => {
    const started = `${world.project}/started`
    const command = `setsid sh -c 'touch ${started}; sleep 600' > /dev/null 2>&1 &`
    const model = await world.model({
      answers: [
        { tool: 'Bash', input: { command, description: 'x' } },
        'Started it.',
        { text: 'one two three', chunkChars: 4, stallAfter: 2 },
      ],
    })
    const host = world.host([world.claude(model, { keepAlive: true, onLog: entry => host.log(entry) })])
    const { id } = await host.createSession(world.project)
    const session = await host.session(id)
    await session.start('Go', { autoApproveTools: ['Bash'] })
    await session.settled()
    while (!existsSync(started)) await pause(POLL_MS)
    if (when === 'in a turn') {
      const { turnId } = await session.start('More', { autoApproveTools: ['Bash'] })
      await untilEvent(session, event => event.type === 'chat:delta' && turnId !== '')
      await model.waitForRequest(({ state }) => state === 'stalled')
    }
    expect((await findByMarker(world.marker)).length).toBeGreaterThan(1)

    await host.deleteSession(id)
    expect(await findByMarker(world.marker)).toEqual([])
    expect(rows('process:exit')).toHaveLength(rows('process:spawn').length)
  },
)

test('a host that closes has the end of its kept agents in harness.log', async () => {
  const model = await world.model({ otherwise: 'Yes.' })
  const host = world.host([world.claude(model, { keepAlive: true, onLog: entry => host.log(entry) })])
  const { id } = await host.createSession(world.project)
  const session = await host.session(id)
  await session.start('Go')
  await session.settled()
  expect(rows('process:exit')).toEqual([])
  await host.close()
  expect(rows('process:exit')).toMatchObject([
    { sessionId: id, data: { exitCode: 0, signal: null, durationMs: expect.any(Number) } },
  ])
})

test('a kill ends the kept agent of a session without a turn, and the next turn starts another', async () => {
  const model = await world.model({ otherwise: 'Yes.' })
  const host = world.host([world.claude(model, { keepAlive: true, onLog: entry => host.log(entry) })])
  const session = await host.session((await host.createSession(world.project)).id)
  await session.start('Go')
  await session.settled()
  expect((await findByMarker(world.marker)).length).toBeGreaterThan(0)
  await session.kill()
  expect(await findByMarker(world.marker)).toEqual([])
  await session.start('Again')
  await session.settled()
  expect(session.status.lastTurn).toBe('completed')
  const { claudeSessionId } = await host.store.resume(session.id)
  expect(rows('resume:attempt')).toMatchObject([{ data: { claudeSessionId } }])
})

test('what a kept agent says and spends between turns is stored as it comes, counted once, and in the log when the host closes', async () => {
  const usage = { input: 10_000, output: 1_000 }
  const inBackground = (go: string) => ({
    tool: 'Bash',
    input: {
      command: `while [ ! -e ${world.project}/${go} ]; do sleep 0.05; done`,
      description: 'x',
      run_in_background: true,
    },
    usage,
  })
  const model = await world.model({
    answers: [
      ...[inBackground('go-1'), 'Started it.', { text: 'It is done.', usage }],
      ...[inBackground('go-2'), 'Started another.', { text: 'one two three', chunkChars: 4, stallAfter: 2 }],
    ],
  })
  const host = world.host([world.claude(model, { keepAlive: true, backgroundMs: 1 })])
  const { id } = await host.createSession(world.project)
  const session = await host.session(id)
  await session.start('Go', { autoApproveTools: ['Bash'] })
  await session.settled()
  const { costUsd: first, lastSeq } = session.status

  writeFileSync(`${world.project}/go-1`, '')
  const isResult = ({ seq, event }: Envelope) => seq > lastSeq && event.type === 'session:complete'
  const result = await untilEnvelope(session, isResult)
  expect(result.turnId).toBeNull()
  expect(session.status).toMatchObject({ phase: 'idle', condition: 'done', lastTurn: 'completed' })
  expect(session.status.costUsd).toBeGreaterThan(first ?? 0)
  while (Math.abs(spent().total_cost_usd - (session.status.costUsd ?? 0)) > 1e-6) await pause(POLL_MS)
  expect(spent().iterations).toBe(1)

  await session.start('More', { autoApproveTools: ['Bash'] })
  await session.settled()
  expect(spent()).toMatchObject({ iterations: 2 })
  expect(spent().total_cost_usd).toBeCloseTo(session.status.costUsd ?? 0, 6)
  expect(textsOf(envelopesOf(session))).toEqual(['Started it.', 'It is done.', 'Started another.'])

  writeFileSync(`${world.project}/go-2`, '')
  await model.waitForRequest(({ state }) => state === 'stalled')
  await host.close()
  const reopened = await world.host([]).session(id)
  // The end of the agent is what cut the text short.
  const cut = { type: 'chat:message', text: 'one two ', aborted: true }
  expect(envelopesOf(reopened).at(-1)).toMatchObject({ turnId: null, event: cut })
})

test('a kept agent that dies between turns is shown in its session at once, and once', async () => {
  const model = await world.model({ otherwise: 'Yes.' })
  const host = world.host([world.claude(model, { keepAlive: true, onLog: entry => host.log(entry) })])
  const session = await host.session((await host.createSession(world.project)).id)
  await session.start('Go')
  await session.settled()
  const [spawned] = rows('process:spawn') as { data: { pid: number } }[]
  process.kill(spawned?.data.pid ?? 0, 'SIGKILL')
  const exit = await untilEnvelope(session, ({ event }) => event.type === 'process:exit')
  expect(exit).toMatchObject({ turnId: null, event: { code: null, signal: 'SIGKILL' } })
  expect(session.status).toMatchObject({ phase: 'idle', condition: 'done', lastTurn: 'completed' })
  await session.start('Again')
  await session.settled()
  const notices = envelopesOf(session).flatMap(({ event }) =>
    event.type === 'status' && event.level === 'warn' ? [event.message] : [],
  )
  expect(notices).toEqual([
    'Claude Code was ended by SIGKILL while no turn ran. The next message starts it again.',
  ])
  expect(session.status.lastTurn).toBe('completed')
})

test('a kept agent that spends more than its budget between turns is stopped, and the conversation says why', async () => {
  const usage = { input: 10_000, output: 1_000 }
  const command = `while [ ! -e ${world.project}/go ]; do sleep 0.05; done`
  const model = await world.model({
    answers: [
      { tool: 'Bash', input: { command, description: 'x', run_in_background: true }, usage },
      'Started it.',
      { text: 'It is done.', usage: { input: 1_000_000, output: 100_000 } },
    ],
  })
  const host = world.host([world.claude(model, { keepAlive: true, backgroundMs: 1 })])
  const { id } = await host.createSession(world.project, { budgetUsd: 1 })
  const session = await host.session(id)
  await session.start('Go', { autoApproveTools: ['Bash'] })
  await session.settled()
  expect(session.status.lastTurn).toBe('completed')
  expect((await findByMarker(world.marker)).length).toBeGreaterThan(0)

  writeFileSync(`${world.project}/go`, '')
  const isReason = ({ event }: Envelope) => event.type === 'status' && event.message.includes('was stopped')
  const reason = await untilEnvelope(session, isReason)
  expect(reason).toMatchObject({
    turnId: null,
    event: { message: expect.stringContaining('The budget of the session is used up') },
  })
  expect(envelopesOf(session).filter(({ event }) => event.type === 'budget')).toMatchObject([
    { turnId: null, event: { scope: 'session', exceeded: true, limitUsd: 1 } },
  ])
  while ((await findByMarker(world.marker)).length > 0) await pause(POLL_MS)
  await expect(session.start('More')).rejects.toMatchObject({ code: 'budget' })
})

async function untilEnvelope(session: LiveSession, fits: (envelope: Envelope) => boolean): Promise<Envelope> {
  for await (const batch of session.log.subscribe(0)) {
    const found = batch.find(fits)
    if (found !== undefined) return found
  }
  throw new Error('the log ended before the awaited event')
}

function textsOf(envelopes: Envelope[]): string[] {
  return envelopes.flatMap(({ event }) => (event.type === 'chat:complete' ? [event.text] : []))
}

function spent(): { total_cost_usd: number; iterations: number } {
  return JSON.parse(readFileSync(world.file('state', 'budget.json'), 'utf8'))
}

function rows(event: string): unknown[] {
  const lines = readFileSync(world.file('logs', 'harness.log'), 'utf8').trim().split('\n')
  return lines.map(line => JSON.parse(line)).filter(row => row.event === event)
}

const POLL_MS = 5
