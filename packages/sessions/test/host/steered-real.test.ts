import type { SessionHarness } from '@chirality/core'
import { MessagesApiHarness } from '@chirality/runner'
import type { ScriptedModel } from '@chirality/scripted-model'
import { expect, test } from 'vitest'
import type { LiveSession } from '../../src/status/live-session.ts'
import { eventsOf, untilEvent, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()
const claude = (model: ScriptedModel) => world.claude(model, { keepAlive: true })
const messagesApi = (model: ScriptedModel) =>
  new MessagesApiHarness({ environment: world.environment(model) })

/** A turn whose model has stopped in the middle of a word, and that was given a message since. */
async function open(harness: (model: ScriptedModel) => SessionHarness) {
  const model = await world.model({
    answers: [{ text: 'one two three', chunkChars: 4, stallAfter: 2 }, 'And the walrus.'],
  })
  const host = world.host([harness(model)])
  const session = await host.session((await host.createSession(world.project)).id)
  await session.start('Go')
  await untilEvent(session, ({ type }) => type === 'chat:delta')
  await model.waitForRequest(request => request.state === 'stalled')
  expect(await session.steer('  What else?\n')).toEqual({ steered: true })
  expect(session.queue.given).toHaveLength(1)
  return { model, session }
}

function timesShown(session: LiveSession): number {
  const isShown = eventsOf(session).map(
    event => event.type === 'status' && event.data?.kind === 'user_message',
  )
  return isShown.filter(Boolean).length
}

test.each([
  ['Claude Code', claude],
  ['the Messages API', messagesApi],
])('a message into a turn of %s is shown once and forgotten when it is taken', async (_name, harness) => {
  const { model, session } = await open(harness)
  model.release()
  await session.settled()
  expect(session.queue.given).toEqual([])
  expect(session.status).toMatchObject({ lastTurn: 'completed', queue: [], queueHeld: false })
  expect(timesShown(session)).toBe(1)
})

test('a message that Claude Code did not take up before the stop is first in the queue', async () => {
  const { session } = await open(claude)
  session.interrupt()
  await session.settled()
  expect(session.queue.given).toEqual([])
  expect(session.status).toMatchObject({ queue: [{ message: '  What else?\n' }], queueHeld: true })
  expect(timesShown(session)).toBe(0)
})

test('a message that the Messages API got before the stop is in the conversation, and is not sent again', async () => {
  const { session } = await open(messagesApi)
  session.interrupt()
  await session.settled()
  expect(session.queue.given).toEqual([])
  expect(session.status).toMatchObject({ queue: [], queueHeld: false })
  expect(timesShown(session)).toBe(1)
})
