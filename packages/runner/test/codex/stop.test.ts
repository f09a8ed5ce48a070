import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { HarnessTurnOpts, UIEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { isRunning } from '../support/programs.ts'
import {
  bodies,
  collect,
  collectAnd,
  expectOneEnd,
  fileAppears,
  ofType,
  run,
  statuses,
} from './support/events.ts'
import { useWorld, VOICES } from './support/world.ts'

const world = useWorld()

/** A command that says that it runs, and runs until it is ended. In a session of its own, as a server would be. */
const HANGING_COMMAND = run('echo $$ > started; exec tail -f /dev/null', { yield_time_ms: 600_000 })

describe.each(VOICES)('stopping a turn of Codex through $voice', ({ voice }) => {
  const isBegun = (event: UIEvent) => event.type === (voice === 'exec' ? 'session:init' : 'chat:delta')
  /** The app-server is there for the next turn; nothing else may be. */
  const agentsLeft = voice === 'exec' ? 0 : 1
  const isTool = (event: UIEvent) => event.type === 'tool:start'

  async function startStalledText(opts: HarnessTurnOpts = {}) {
    const model = await world.model({
      answers: [{ text: 'A long answer, cut short.', chunkChars: 2, stallAfter: 3 }],
      otherwise: 'Next.',
    })
    const harness = world.harness({ model, voice })
    const session = world.session()
    return { harness, session, model, events: harness.startTurn(session, 'Tell me a story', opts) }
  }

  async function startHangingCommand(
    permissionMode: HarnessTurnOpts['permissionMode'] = 'bypassPermissions',
  ) {
    const model = await world.model({ answers: [HANGING_COMMAND], otherwise: 'Next.' })
    const harness = world.harness({ model, voice })
    const session = world.session()
    const events = harness.startTurn(session, 'Run it', { permissionMode })
    const started = path.join(world.project, 'started')
    const pid = () => Number(readFileSync(started, 'utf8'))
    return { harness, session, model, events, started: () => fileAppears(started), pid }
  }

  test('an interrupt while the model speaks ends as interrupted, and the next turn goes on', async () => {
    const { harness, session, events, model } = await startStalledText()
    const all = await collectAnd(events, isBegun, async () => {
      await model.waitForRequest(({ state }) => state === 'stalled')
      expect(harness.isRunning(session.id)).toBe(true)
      harness.interrupt(session.id)
      // A second press changes nothing.
      harness.interrupt(session.id)
    })
    expect(expectOneEnd(all, voice)).toEqual({ reason: 'interrupted' })
    expect(ofType(all, 'session:error')).toMatchObject([
      { code: 'interrupted', error: 'The turn was stopped.' },
    ])
    expect(harness.isRunning(session.id)).toBe(false)

    session.claudeSessionId = ofType(all, 'session:init')[0]?.claudeSessionId ?? null
    const next = await collect(harness.startTurn(session, 'And now?'))
    expect(expectOneEnd(next, voice)).toEqual({ reason: 'completed' })
    expect(ofType(next, 'chat:complete')).toMatchObject([{ text: 'Next.' }])
    expect(ofType(next, 'session:init')[0]?.claudeSessionId).toBe(session.claudeSessionId)
  })

  test.each(['bypassPermissions', 'acceptEdits'] as const)(
    'an interrupt in a command under %s ends the command too',
    async permissionMode => {
      const { harness, session, events, started, model } = await startHangingCommand(permissionMode)
      const all = await collectAnd(events, isTool, async () => {
        await started()
        harness.interrupt(session.id)
      })
      expect(expectOneEnd(all, voice)).toEqual({ reason: 'interrupted' })
      await onlyLeft(agentsLeft)
      expect(bodies(model)).toHaveLength(1)
    },
  )

  test('a kill in a command leaves neither it nor the agent', async () => {
    const { harness, session, events, started, pid } = await startHangingCommand()
    const all = await collectAnd(events, isTool, async () => {
      await started()
      harness.kill(session.id)
    })
    expect(expectOneEnd(all, voice)).toEqual({ reason: 'killed' })
    expect(ofType(all, 'session:error')).toMatchObject([
      { code: 'interrupted', error: 'The turn was stopped.' },
    ])
    expect(await isRunning(pid())).toBe(false)
    expect(await findByMarker(world.marker)).toEqual([])
    // Whoever stops a turn wants all of it gone; that it went is no news.
    expect(statuses(all, 'cleanup')).toEqual([])
  })

  test('after a kill the next turn goes on where the conversation was', async () => {
    const { harness, session, events, started } = await startHangingCommand()
    const all = await collectAnd(events, isTool, async () => {
      await started()
      harness.kill(session.id)
    })
    session.claudeSessionId = ofType(all, 'session:init')[0]?.claudeSessionId ?? null
    const next = await collect(harness.startTurn(session, 'And now?'))
    expect(expectOneEnd(next, voice)).toEqual({ reason: 'completed' })
    expect(ofType(next, 'session:init')[0]?.claudeSessionId).toBe(session.claudeSessionId)
  })

  test('leaving the loop stops the turn and its command', async () => {
    const { harness, session, events, started } = await startHangingCommand()
    for await (const event of events) {
      if (!isTool(event)) continue
      await started()
      break
    }
    await onlyLeft(agentsLeft)
    expect(harness.isRunning(session.id)).toBe(false)
  })

  test('leaving the loop at its first event stops the turn', async () => {
    const { harness, session, events, model } = await startStalledText()
    for await (const event of events) {
      expect(event.type).toBe('turn:start')
      break
    }
    expect(harness.isRunning(session.id)).toBe(false)
    expect(model.requests.filter(({ state }) => state === 'answering')).toEqual([])
  })

  test('a timeout is distinguished from a stop by the user', async () => {
    const timeout = new AbortController()
    const { events, model } = await startStalledText({ signal: timeout.signal })
    const all = await collectAnd(events, isBegun, async () => {
      await model.waitForRequest(({ state }) => state === 'stalled')
      timeout.abort(new DOMException('Too slow', 'TimeoutError'))
    })
    expect(expectOneEnd(all, voice)).toEqual({ reason: 'timeout' })
    expect(ofType(all, 'session:error')).toMatchObject([{ code: 'timeout' }])
  })

  test('a turn that is stopped before it starts asks no model and starts no process', async () => {
    const { events, model } = await startStalledText({ signal: AbortSignal.abort() })
    const all = await collect(events)
    expect(expectOneEnd(all, voice)).toEqual({ reason: 'interrupted' })
    const exit = voice === 'exec' ? ['process:exit'] : []
    expect(all.map(({ type }) => type)).toEqual(['turn:start', 'session:error', 'turn:end', ...exit])
    expect(model.requests).toEqual([])
    expect(world.spools()).toEqual([])
  })

  test.each(['interrupt', 'kill'] as const)('%s while it starts ends it the same way', async how => {
    const { harness, session, events } = await startStalledText()
    const first = events.next()
    harness[how](session.id)
    const all = [(await first).value, ...(await collect(events))]
    expect(expectOneEnd(all, voice)).toEqual({ reason: how === 'kill' ? 'killed' : 'interrupted' })
  })

  test.each(['interrupt', 'kill'] as const)('%s in the moment of the spawn is not lost', async how => {
    const model = await world.model({ answers: [{ text: 'Never said.', stallAfter: 0 }] })
    const session = world.session()
    const harness = world.harness({
      model,
      voice,
      onLog: ({ event }) => event === 'process:spawn' && harness[how](session.id),
    })
    const all = await collect(harness.startTurn(session, 'Hi'))
    expect(expectOneEnd(all, voice)).toEqual({ reason: how === 'kill' ? 'killed' : 'interrupted' })
  })

  test('a stop that comes after the answer does not undo it', async () => {
    const model = await world.model({ answers: ['All done.'] })
    const harness = world.harness({ model, voice })
    const session = world.session()
    const isComplete = (event: UIEvent) => event.type === 'session:complete'
    const all = await collectAnd(harness.startTurn(session, 'Hi'), isComplete, () =>
      harness.interrupt(session.id),
    )
    expect(expectOneEnd(all, voice)).toEqual({ reason: 'completed' })
    expect(ofType(all, 'session:error')).toEqual([])
  })

  test('close ends a turn that runs', async () => {
    const { harness, events, started, pid } = await startHangingCommand()
    const all = await collectAnd(events, isTool, async () => {
      await started()
      await harness.close()
    })
    expect(expectOneEnd(all, voice)).toEqual({ reason: 'killed' })
    expect(await isRunning(pid())).toBe(false)
    expect(await findByMarker(world.marker)).toEqual([])
  })

  test('the user is told of the silence, and the turn goes on', async () => {
    const { events, model } = await startStalledText({ stallMs: 30 })
    const isStalled = (event: UIEvent) => event.type === 'status' && event.status === 'stalled'
    const all = await collectAnd(events, isStalled, async () => {
      await model.waitForRequest(({ state }) => state === 'stalled')
      model.release()
    })
    expect(expectOneEnd(all, voice)).toEqual({ reason: 'completed' })
    expect(statuses(all, 'stalled')[0]).toMatchObject({ level: 'warn', data: { idleMs: expect.any(Number) } })
  })
})

/** An app-server kills a command and does not wait for its end. What stays fails the test by its time limit. */
async function onlyLeft(count: number): Promise<void> {
  while ((await findByMarker(world.marker)).length > count) await pause(POLL_MS)
  expect(await findByMarker(world.marker)).toHaveLength(count)
}

/** Whoever asks without a pause takes the processor from what it waits for. */
const POLL_MS = 5
