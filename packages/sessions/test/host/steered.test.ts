import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { TurnEndReason, UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import type { LiveSession } from '../../src/status/live-session.ts'
import { eventsOf, untilEvent, useHostWorld } from '../support/host-world.ts'
import { answers, init, ScriptedHarness, type TurnScript, waits } from '../support/scripted-harness.ts'

const world = useHostWorld()
const TAKES = { steer: async () => true }

function takes(sessionId: string, text: string): UIEvent {
  const data = { kind: 'user_message', text }
  return { type: 'status', sessionId, status: 'notice', level: 'info', message: text, data }
}

async function open(script: TurnScript, steer: () => Promise<boolean> = TAKES.steer) {
  const host = world.host([new ScriptedHarness([script], { steer })])
  const { id } = await host.createSession(world.project)
  const session = await host.session(id)
  await session.start('Go')
  return { host, session }
}

function onDisk({ id }: LiveSession): { given: { message: string }[]; messages: unknown[] } {
  return JSON.parse(readFileSync(world.file('state', 'queue', `${id}.json`), 'utf8'))
}

test('a steered message is on the disk before the agent is given it', async () => {
  const seen: string[] = []
  const { session } = await open(waits(), async () => {
    seen.push(...onDisk(session).given.map(({ message }) => message))
    return true
  })
  expect(await session.steer('Use tabs.')).toEqual({ steered: true })
  expect(seen).toEqual(['Use tabs.'])
  expect(session.status.steered).toMatchObject([{ message: 'Use tabs.' }])
  expect(session.queue.list()).toEqual([])
})

test.each<TurnEndReason>(['interrupted', 'crashed', 'killed', 'completed'])(
  'a turn that ended as %s before the agent took it gives it back, first in a queue that is held',
  async reason => {
    let end: (reason: TurnEndReason) => void = () => {}
    const ends = new Promise<TurnEndReason>(resolve => {
      end = resolve
    })
    const { session } = await open(waits(ends))
    await session.send('later')
    await session.steer('one')
    await session.steer('two')
    end(reason)
    await session.settled()
    expect(session.queue.list().map(({ message }) => message)).toEqual(['one', 'two', 'later'])
    expect(session.status.queueHeld).toBe(true)
    expect(onDisk(session)).toMatchObject({ given: [] })
    expect(session.status.steered).toEqual([])
    expect(eventsOf(session).at(-1)).toMatchObject({ message: expect.stringContaining('2 messages') })
  },
)

test('a message that was taken up is not queued again, and equal texts are confirmed once each', async () => {
  let giveAll: () => void = () => {}
  const given = new Promise<void>(resolve => {
    giveAll = resolve
  })
  const { session } = await open(async function* ({ session: { id }, message, stopped }) {
    yield { type: 'turn:start', sessionId: id, message }
    yield init(id)
    await given
    yield takes(id, 'same')
    yield takes(id, 'something of the agent itself')
    await stopped
    yield { type: 'turn:end', sessionId: id, reason: 'interrupted' }
  })
  await session.steer('same')
  await session.steer('same')
  giveAll()
  await untilEvent(session, event => event.type === 'status' && event.message.startsWith('something'))
  session.interrupt()
  await session.settled()
  expect(session.queue.list()).toMatchObject([{ message: 'same' }])
})

test('an agent that fails to take it leaves it first in the queue', async () => {
  const { session } = await open(waits(), async () => {
    throw new Error('gone')
  })
  await session.send('later')
  expect(await session.steer('now')).toMatchObject({ queued: { message: 'now' } })
  expect(session.queue.list().map(({ message }) => message)).toEqual(['now', 'later'])
})

test('a host that died: what the log says was taken is gone, the rest is first in the queue', async () => {
  const { host, session } = await open(async function* ({ session: { id }, message, stopped }) {
    yield { type: 'turn:start', sessionId: id, message }
    yield init(id)
    yield takes(id, 'read')
    await stopped
  })
  await untilEvent(session, ({ type }) => type === 'status')
  await session.steer('unread')
  const file = world.file('state', 'queue', `${session.id}.json`)
  const state = onDisk(session)
  const [unread] = state.given
  // As a host leaves it that dies after the log and before the file.
  const read = { ...unread, id: 'r', message: 'read', afterSeq: 0 }
  const left = JSON.stringify({ ...state, given: [read, { ...read, id: 's' }, unread] })
  await host.close()
  rmSync(file, { force: true })
  writeFileSync(file, left)
  const again = world.host([new ScriptedHarness([answers('Done.')])])
  await again.openProject(world.project)
  const found = await again.session(session.id)
  expect(found.queue.list().map(({ message }) => message)).toEqual(['read', 'unread'])
  expect(found.status.queueHeld).toBe(true)
  await found.queue.release()
  await found.settled()
  expect(found.queue.list()).toEqual([])
})
