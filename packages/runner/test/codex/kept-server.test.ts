import { EventEmitter, once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { PIXEL_PNG } from '../support/images.ts'
import { collect, collectAnd, fileAppears, lastBody, ofType, run } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('a server that was started ahead serves the first turn', async () => {
  const model = await world.model({ answers: ['Hello.'] })
  const harness = world.harness({ model })
  expect(harness.capabilities().supportsPrewarm).toBe(true)
  const session = world.session()
  await harness.prewarm?.(session)
  await harness.prewarm?.(session)
  expect(spawned()).toHaveLength(1)
  const events = await collect(harness.startTurn(session, 'Hi'))
  expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'Hello.' }])
  expect(spawned()).toHaveLength(1)
})

test('nothing is started ahead where each turn has a process of its own, or tools of its own', async () => {
  const model = await world.model({ answers: [] })
  const exec = world.harness({ model, voice: 'exec' })
  expect(exec.capabilities().supportsPrewarm).toBe(false)
  expect(exec.prewarm).toBeUndefined()
  const mcpServers = { x: { type: 'stdio', command: 'true' } } as const
  await world.harness({ model }).prewarm?.(world.session(), { mcpServers })
  expect(spawned()).toEqual([])
})

test('how full the context is, by the word of the agent', async () => {
  const model = await world.model({ answers: [{ text: 'Hello.', usage: { input: 1200, output: 34 } }] })
  const harness = world.harness({ model })
  const session = world.session()
  expect(await harness.contextUsage(session.id)).toBeUndefined()
  await collect(harness.startTurn(session, 'Hi'))
  expect(await harness.contextUsage(session.id)).toEqual({
    usedTokens: 1234,
    maxTokens: expect.any(Number),
  })
  await harness.close()
  expect(await harness.contextUsage(session.id)).toBeUndefined()
})

test('a picture can be sent into a running turn, and its file is gone with the turn', async () => {
  const model = await world.model({ answers: [{ text: 'one two', chunkChars: 4, stallAfter: 1 }, 'I see.'] })
  const harness = world.harness({ model })
  expect(harness.capabilities().supportsSteering).toBe(true)
  const session = world.session()
  const image = {
    type: 'image',
    source: { kind: 'base64', data: PIXEL_PNG, mediaType: 'image/png' },
  } as const
  const events = await collectAnd(
    harness.startTurn(session, 'Go'),
    ({ type }) => type === 'chat:delta',
    async () => expect(await harness.steer?.(session.id, 'Look at this', [image])).toBe(true),
  )
  expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
  expect(JSON.stringify(lastBody(model).input)).toMatch(/Look at this.*data:image/)
})

describe('a session that is released', () => {
  /** The command ends only when the detached one runs: Codex ends the group of a command that is over, before `setsid` leaves it. */
  const detached = (file: string) =>
    run(
      `setsid sh -c 'touch ${file}; sleep 600' > /dev/null 2>&1 & while [ ! -e ${file} ]; do sleep 0.1; done`,
    )

  test('takes a server with it that nobody else uses, and what it left in the background', async () => {
    const file = path.join(world.project, 'started')
    const model = await world.model({ answers: [detached(file), 'Started it.'] })
    const harness = world.harness({ model })
    const session = world.session()
    await collect(harness.startTurn(session, 'Go', YOLO))
    await fileAppears(file)
    await harness.release(session.id)
    expect(await findByMarker(world.marker)).toEqual([])
    expect(exited()).toHaveLength(1)
  })

  test('takes only what is its own from a server that others use', async () => {
    const [mine, theirs] = ['mine', 'theirs'].map(name => path.join(world.project, name)) as [string, string]
    const model = await world.model({
      answers: [detached(mine), 'Mine.', detached(theirs), 'Theirs.', 'Still here.'],
    })
    const harness = world.harness({ model })
    const session = world.session()
    const other = world.session()
    await collect(harness.startTurn(session, 'Go', YOLO))
    await fileAppears(mine)
    const before = (await findByMarker(world.marker)).length
    const events = await collect(harness.startTurn(other, 'Go', YOLO))
    await fileAppears(theirs)
    expect(spawned()).toHaveLength(1)
    await harness.release(session.id)
    expect(await findByMarker(world.marker)).toHaveLength(before)
    other.claudeSessionId = ofType(events, 'session:init')[0]?.claudeSessionId ?? null
    const next = await collect(harness.startTurn(other, 'And now?', YOLO))
    expect(ofType(next, 'chat:complete')).toMatchObject([{ text: 'Still here.' }])
    expect(spawned()).toHaveLength(1)
  })
})

describe('a server without a turn', () => {
  test('is kept while a command goes on in the background, and ended when that is over', async () => {
    const [begun, enough] = ['begun', 'enough'].map(name => path.join(world.project, name)) as [
      string,
      string,
    ]
    const command = `touch ${begun}; while [ ! -e ${enough} ]; do sleep 0.1; done`
    const model = await world.model({ answers: [run(command, { yield_time_ms: 250 }), 'It goes on.'] })
    const log = new EventEmitter()
    const harness = world.harness({ model, idleMs: 100, onLog: ({ event }) => log.emit(event) })
    const over = once(log, 'process:exit')
    const events = await collect(harness.startTurn(world.session(), 'Go', YOLO))
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'It goes on.' }])
    await fileAppears(begun)
    // Ten times as long as an idle server is kept: one that is ended for it is gone by then.
    await expect(Promise.race([over, setTimeout(1000, 'kept')])).resolves.toBe('kept')
    writeFileSync(enough, '')
    await over
    expect(await findByMarker(world.marker)).toEqual([])
  })

  test('that takes more memory than may be kept is ended with its turn', async () => {
    const model = await world.model({ answers: ['Hello.'] })
    const log = new EventEmitter()
    const onLog = ({ event }: { event: string }) => log.emit(event)
    const harness = world.harness({ model, keepMemory: { bytes: 0 }, onLog })
    const over = once(log, 'process:exit')
    await collect(harness.startTurn(world.session(), 'Hi'))
    await over
  })
})

describe('when it is closed', () => {
  const CLOSED = { code: 'aborted', message: expect.stringContaining('closed') }

  test('nothing is started any more, not even an exec', async () => {
    const model = await world.model({ otherwise: 'Hello.' })
    const harness = world.harness({ model })
    await harness.close()
    await expect(harness.prewarm?.(world.session())).rejects.toMatchObject(CLOSED)
    await expect(harness.startTurn(world.session(), 'Hi').next()).rejects.toMatchObject(CLOSED)
    expect(spawned()).toEqual([])
  })

  test('a server that waits for another to end is not started', async () => {
    const model = await world.model({ answers: [] })
    const harness = world.harness({ model })
    const session = world.session()
    await harness.prewarm?.(session)
    // Another environment, so another process, once the first has let go.
    const other = harness.prewarm?.(session, { env: { OTHER: 'yes' } })
    await Promise.all([expect(other).rejects.toMatchObject(CLOSED), harness.close()])
    expect(spawned()).toHaveLength(1)
    expect(exited()).toHaveLength(1)
  })

  test('a server that is being started is ended, and so is the turn that wants it', async () => {
    const log = new EventEmitter()
    const harness = world.harness({
      binaryPath: world.fake('fake-codex', 'mute'),
      onLog: ({ event }) => log.emit(event),
    })
    const session = world.session()
    const started = once(log, 'process:spawn')
    const turn = collect(harness.startTurn(session, 'Hi'))
    const ahead = harness.prewarm?.(world.session())
    await started
    await Promise.all([expect(ahead).rejects.toMatchObject(CLOSED), harness.close()])
    expect(ofType(await turn, 'turn:end')).toMatchObject([{ reason: 'killed' }])
    expect(spawned()).toHaveLength(1)
    expect(exited()).toHaveLength(1)
  })

  test('no server is started while the running turns are being ended', async () => {
    const log = new EventEmitter()
    const harness = world.harness({
      binaryPath: world.fake('fake-codex', 'mute'),
      onLog: ({ event }) => log.emit(event),
    })
    const started = once(log, 'process:spawn')
    const turn = collect(harness.startTurn(world.session(), 'Hi'))
    await started
    const closing = harness.close()
    await expect(harness.prewarm?.(world.session())).rejects.toMatchObject(CLOSED)
    await closing
    expect(ofType(await turn, 'turn:end')).toMatchObject([{ reason: 'killed' }])
    expect(spawned()).toHaveLength(1)
    expect(exited()).toHaveLength(1)
  })
})

const YOLO = { permissionMode: 'bypassPermissions' } as const

function spawned() {
  return world.logs.filter(({ event }) => event === 'process:spawn')
}

function exited() {
  return world.logs.filter(({ event }) => event === 'process:exit')
}
