import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { findByMarker } from '@chirality/runner'
import { expect, test } from 'vitest'
import { untilEvent, useHostWorld } from '../support/host-world.ts'

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

function rows(event: string): unknown[] {
  const lines = readFileSync(world.file('logs', 'harness.log'), 'utf8').trim().split('\n')
  return lines.map(line => JSON.parse(line)).filter(row => row.event === event)
}

const POLL_MS = 5
