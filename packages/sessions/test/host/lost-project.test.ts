import { renameSync, rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { findByMarker } from '@chirality/runner'
import { expect, test } from 'vitest'
import { lockProject } from '../../src/lock/project-lock.ts'
import { eventsOf, untilEvent, useHostWorld } from '../support/host-world.ts'
import { ScriptedHarness, waits } from '../support/scripted-harness.ts'

const world = useHostWorld()

test('a host whose project another one took over writes no more, and leaves the agents to it', async () => {
  const harness = new ScriptedHarness([waits()])
  const host = world.host([harness])
  const session = await host.session((await host.createSession(world.project)).id)
  await session.start('Go')
  rmSync(world.file('lock'), { recursive: true })
  const other = await lockProject(world.project, { address: 'http://127.0.0.1:5000' })
  world.atEnd(() => other.release())
  while (host.projects().length > 0) await new Promise(setImmediate)
  while (host.statuses().length > 0) await new Promise(setImmediate)
  expect(harness.isRunning(session.id)).toBe(true)
  await expect(session.start('More')).rejects.toMatchObject({ code: 'closed' })
})

test.each(['while the folder is away', 'after it is back'])(
  'a project folder that is away for 3 s in a turn: the agent that goes on %s is heard to its end, and the next turn works',
  async when => {
    const text = 'Here, there and everywhere. '.repeat(20)
    const model = await world.model({
      answers: [{ text, chunkChars: 10, stallAfter: 5 }],
      otherwise: 'Still here.',
    })
    const host = world.host([world.claude(model, { keepAlive: true })])
    const { id } = await host.createSession(world.project)
    const session = await host.session(id)
    const heard: string[] = []
    const reader = (async () => {
      for await (const batch of session.log.subscribe(0)) {
        heard.push(...batch.map(({ event }) => event.type))
        if (heard.includes('turn:end')) return
      }
    })()
    await session.start('Go')
    await untilEvent(session, ({ type }) => type === 'chat:delta')
    await model.waitForRequest(({ state }) => state === 'stalled')
    renameSync(world.project, `${world.root}/elsewhere`)
    if (when === 'while the folder is away') model.release()
    // Longer than the host takes to look after its lock and its files.
    await pause(3000)
    renameSync(`${world.root}/elsewhere`, world.project)
    model.release()
    await reader
    await session.settled()

    const events = eventsOf(session)
    expect(events.filter(({ type }) => type === 'turn:end')).toMatchObject([{ reason: 'completed' }])
    const said = events.flatMap(event => (event.type === 'chat:delta' ? [event.text] : [])).join('')
    expect(said).toBe(text)
    expect(host.projects()).toContain(world.project)
    await session.start('And now?')
    await session.settled()
    expect(session.status).toMatchObject({ lastTurn: 'completed', lastLine: 'Still here.' })
    await host.close()
    expect(await findByMarker(world.marker)).toEqual([])
  },
)
