import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { TurnEndReason } from '@chirality/core'
import { expect, test } from 'vitest'
import type { LiveSession } from '../../src/status/live-session.ts'
import { eventsOf, useHostWorld } from '../support/host-world.ts'
import {
  answers,
  ScriptedHarness,
  type ScriptedHarnessOptions,
  type TurnScript,
  waits,
} from '../support/scripted-harness.ts'

const world = useHostWorld()

async function open(scripts: TurnScript[], options: ScriptedHarnessOptions = {}) {
  const harness = new ScriptedHarness(scripts, options)
  const host = world.host([harness])
  const { id } = await host.createSession(world.project)
  return { host, harness, session: await host.session(id) }
}

function later<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>(settle => {
    resolve = settle
  })
  return { promise, resolve }
}

function messagesOf(session: LiveSession): string[] {
  return eventsOf(session).flatMap(event => (event.type === 'turn:start' ? [event.message] : []))
}

test('follow-ups are sent one after the other when a turn completes, in the order the user left them', async () => {
  const first = later<TurnEndReason>()
  const { session, harness } = await open([waits(first.promise), answers('Two.'), answers('Three.')])
  expect(await session.send('one')).toHaveProperty('turnId')
  const ids: string[] = []
  for (const message of ['two', 'three', 'four']) {
    const sent = await session.send(message, { model: `model-${message}` })
    if ('queued' in sent) ids.push(sent.queued.id)
  }
  const [two = '', three = '', four = ''] = ids
  await session.queue.move(three, 0)
  await session.queue.edit(two, 'TWO')
  await session.queue.remove(four)
  expect(session.status.queue.map(({ message }) => message)).toEqual(['three', 'TWO'])
  first.resolve('completed')
  await session.settled()
  expect(messagesOf(session)).toEqual(['one', 'three', 'TWO'])
  expect(harness.turns.map(({ opts }) => [opts.turnId, opts.model]).slice(1)).toEqual([
    [three, 'model-three'],
    [two, 'model-two'],
  ])
  expect(session.status).toMatchObject({ queue: [], queueHeld: false })
})

test.each<TurnEndReason>(['failed', 'interrupted', 'killed', 'crashed', 'budget', 'timeout', 'max_turns'])(
  'after a turn that ended as %s the queue waits for a person',
  async reason => {
    const first = later<TurnEndReason>()
    const { session } = await open([waits(first.promise), answers('Two.')])
    await session.start('one')
    await session.send('two')
    first.resolve(reason)
    await session.settled()
    expect(session.status).toMatchObject({ queueHeld: true, phase: 'idle' })
    expect(messagesOf(session)).toEqual(['one'])
    await session.queue.release()
    await session.settled()
    expect(messagesOf(session)).toEqual(['one', 'two'])
  },
)

test('a message that cannot be sent stays, and the log says why', async () => {
  const first = later<TurnEndReason>()
  const { session, host } = await open([waits(first.promise), answers('Two.')])
  await session.start('one')
  await session.send('two', { maxBudgetUsd: 0 })
  first.resolve('completed')
  await session.settled()
  expect(session.status).toMatchObject({ queueHeld: true, queue: [{ message: 'two' }] })
  expect(eventsOf(session).at(-1)).toMatchObject({
    type: 'status',
    message: expect.stringContaining('budget'),
  })
  expect(host.statuses()).toHaveLength(1)
})

test('the queue is a file that outlives the host, with images and options', async () => {
  const { session, host } = await open([waits()])
  await session.start('one')
  const image = {
    type: 'image' as const,
    source: { kind: 'base64' as const, data: 'aGk=', mediaType: 'image/png' },
  }
  await session.send('two', { images: [image], thinking: 'high' })
  const file = world.file('state', 'queue', `${session.id}.json`)
  expect(JSON.parse(readFileSync(file, 'utf8')).messages).toMatchObject([{ message: 'two' }])
  await host.close()
  const again = world.host([new ScriptedHarness([])])
  await again.openProject(world.project)
  const reopened = await again.session(session.id)
  expect(reopened.status).toMatchObject({ queueHeld: true, phase: 'idle' })
  expect(reopened.queue.list()).toMatchObject([
    { message: 'two', request: { images: [image], thinking: 'high' } },
  ])
})

test('a message that cannot be stored is refused with a reason', async () => {
  const { session } = await open([waits()])
  await session.start('one')
  const handler = async () => ({ content: '' })
  const clientTools = [{ name: 't', description: '', inputSchema: {}, handler }]
  await expect(session.send('two', { clientTools })).rejects.toMatchObject({ code: 'queue-not-keepable' })
  const data = 'x'.repeat(17 * 1024 * 1024)
  const images = [
    { type: 'image' as const, source: { kind: 'base64' as const, data, mediaType: 'image/png' } },
  ]
  await expect(session.send('two', { images })).rejects.toMatchObject({ code: 'queue-full' })
  await expect(session.queue.edit('nothing', 'x')).rejects.toMatchObject({ code: 'queue-not-found' })
  expect(session.queue.list()).toEqual([])
})

test('steer goes into the turn where the agent can, else first into the queue, else it is a turn', async () => {
  const said: string[] = []
  let takes = true
  const steer = async (message: string) => {
    said.push(message)
    return takes
  }
  const { session } = await open([waits(), answers('Idle.')], { steer })
  await session.start('one')
  expect(await session.steer('left')).toEqual({ steered: true })
  takes = false
  await session.send('later')
  expect(await session.steer('right')).toHaveProperty('queued')
  expect(session.queue.list().map(({ message }) => message)).toEqual(['right', 'later'])
  expect(said).toEqual(['left', 'right'])
  session.interrupt()
  await session.settled()
  await session.queue.clear()
  expect(await session.steer('alone')).toHaveProperty('turnId')
  await session.settled()
})

test('an idle session starts at once what is sent, also when old follow-ups are held', async () => {
  const { session } = await open([waits(), answers('New.')])
  await session.start('one')
  await session.send('old')
  session.interrupt()
  await session.settled()
  expect(await session.send('new')).toHaveProperty('turnId')
  await session.settled()
  expect(messagesOf(session)).toEqual(['one', 'new'])
})

test('a message whose turn is in the log was sent, also when it is not the last one', async () => {
  const { session, host } = await open([answers('One.'), answers('Two.')])
  const { turnId } = await session.start('one')
  await session.settled()
  await session.start('two')
  await session.settled()
  await host.close()
  // As a host leaves it that could not write the queue again after the first turn had begun.
  const queued = { id: turnId, message: 'one', queuedAt: new Date().toISOString(), request: {} }
  const other = { ...queued, id: 'never-sent', message: 'three' }
  const state = { held: false, sending: turnId, messages: [queued, other] }
  mkdirSync(world.file('state', 'queue'), { recursive: true })
  writeFileSync(world.file('state', 'queue', `${session.id}.json`), JSON.stringify(state))
  const again = world.host([new ScriptedHarness([])])
  await again.openProject(world.project)
  const { queue } = await again.session(session.id)
  expect(queue.list().map(({ message }) => message)).toEqual(['three'])
  expect(queue.sending).toBeNull()
})
