import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { HarnessTurnOpts, UIEvent } from '@chirality/core'
import { claudeVersions } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { isRunning } from '../support/programs.ts'
import {
  collect,
  collectAnd,
  expectOneEnd,
  fileAppears,
  modelRequests,
  ofType,
  statuses,
} from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** A tool that says that it runs, and runs until it is ended. */
const HANGING_TOOL = { tool: 'Bash', input: { command: 'echo $$ > started; tail -f /dev/null' } }
const isDelta = (event: UIEvent) => event.type === 'chat:delta'

describe.each(claudeVersions())('stopping Claude Code $version', ({ path: binary }) => {
  async function startStalledText(opts: HarnessTurnOpts = {}) {
    const model = await world.model({
      answers: [{ text: 'A long answer, cut short.', chunkChars: 2, stallAfter: 3 }],
    })
    const harness = world.harness(binary, { model })
    const session = world.session()
    return { harness, session, model, events: harness.startTurn(session, 'Tell me a story', opts) }
  }

  async function startHangingTool() {
    const model = await world.model({ answers: [HANGING_TOOL], otherwise: 'Never said.' })
    const harness = world.harness(binary, { model })
    const session = world.session()
    const events = harness.startTurn(session, 'Run it', { autoApproveTools: ['Bash'] })
    const started = path.join(world.project, 'started')
    const isTool = (event: UIEvent) => event.type === 'tool:start'
    const toolPid = () => Number(readFileSync(started, 'utf8'))
    return { harness, session, model, events, isTool, toolStarted: () => fileAppears(started), toolPid }
  }

  test('an interrupt while text streams keeps what was said and ends as interrupted', async () => {
    const { harness, session, events } = await startStalledText()
    const all = await collectAnd(events, isDelta, () => {
      expect(harness.isRunning(session.id)).toBe(true)
      harness.interrupt(session.id)
      // A second press changes nothing.
      harness.interrupt(session.id)
    })
    expect(expectOneEnd(all)).toEqual({ reason: 'interrupted' })
    expect(ofType(all, 'session:error')).toMatchObject([{ code: 'interrupted' }])
    const streamed = ofType(all, 'chat:delta')
      .map(({ text }) => text)
      .join('')
    // One release says only afterwards that the text was cut: the same message comes again then.
    const said = new Map(ofType(all, 'chat:message').map(message => [message.messageId, message]))
    expect([...said.values()]).toMatchObject([{ text: streamed, aborted: true }])
    expect(all.at(-1)).toMatchObject({ signal: null })
    expect(harness.isRunning(session.id)).toBe(false)
  })

  test('an interrupt in a tool of a multi-turn task ends the tool too', async () => {
    const { harness, session, events, isTool, toolStarted, toolPid, model } = await startHangingTool()
    const all = await collectAnd(events, isTool, async () => {
      await toolStarted()
      harness.interrupt(session.id)
    })
    expect(expectOneEnd(all)).toEqual({ reason: 'interrupted' })
    expect(ofType(all, 'session:error')).toMatchObject([{ code: 'interrupted' }])
    expect(await isRunning(toolPid())).toBe(false)
    expect(modelRequests(model)).toHaveLength(1)
  })

  test('a kill in a tool leaves neither agent nor tool, and says so', async () => {
    const { harness, session, events, isTool, toolStarted, toolPid } = await startHangingTool()
    const all = await collectAnd(events, isTool, async () => {
      await toolStarted()
      harness.kill(session.id)
    })
    expect(expectOneEnd(all)).toEqual({ reason: 'killed' })
    expect(ofType(all, 'session:error')).toMatchObject([
      { code: 'interrupted', error: 'The turn was stopped.' },
    ])
    expect(all.at(-1)).toMatchObject({ code: 143 })
    expect(await isRunning(toolPid())).toBe(false)
    // Whoever stops a turn wants all of it gone; that it went is no news.
    expect(statuses(all, 'cleanup')).toEqual([])
  })

  test('leaving the loop stops the agent and its tool', async () => {
    const { harness, session, events, isTool, toolStarted, toolPid } = await startHangingTool()
    for await (const event of events) {
      if (!isTool(event)) continue
      await toolStarted()
      break
    }
    expect(await isRunning(toolPid())).toBe(false)
    expect(harness.isRunning(session.id)).toBe(false)
  })

  test('leaving the loop at turn:start stops the agent', async () => {
    const { harness, session, events } = await startStalledText()
    for await (const event of events) {
      expect(event.type).toBe('turn:start')
      break
    }
    expect(harness.isRunning(session.id)).toBe(false)
  })

  test('a signal stops the turn, and a timeout is distinguished from a stop by the user', async () => {
    const timeout = new AbortController()
    const timed = await startStalledText({ signal: timeout.signal })
    const timedEvents = await collectAnd(timed.events, isDelta, () =>
      timeout.abort(new DOMException('Too slow', 'TimeoutError')),
    )
    expect(expectOneEnd(timedEvents)).toEqual({ reason: 'timeout' })
  })

  test('a turn that is stopped before it starts asks no model', async () => {
    const { events, model } = await startStalledText({ signal: AbortSignal.abort() })
    const all = await collect(events)
    expect(expectOneEnd(all)).toEqual({ reason: 'interrupted' })
    expect(all.map(event => event.type)).toEqual(['turn:start', 'session:error', 'turn:end', 'process:exit'])
    expect(model.requests).toEqual([])
    expect(world.spools()).toEqual([])
  })

  test('a turn that is stopped while it starts ends the same way', async () => {
    const { harness, session, events } = await startStalledText()
    const first = events.next()
    harness.interrupt(session.id)
    const all = [(await first).value, ...(await collect(events))]
    expect(expectOneEnd(all)).toEqual({ reason: 'interrupted' })
  })

  test('a stop that comes after the answer does not undo it', async () => {
    const model = await world.model({ answers: ['All done.'] })
    const harness = world.harness(binary, { model })
    const session = world.session()
    const isComplete = (event: UIEvent) => event.type === 'session:complete'
    const all = await collectAnd(harness.startTurn(session, 'Hi'), isComplete, () => harness.kill(session.id))
    expect(expectOneEnd(all)).toEqual({ reason: 'completed' })
    expect(ofType(all, 'session:error')).toEqual([])
  })
})
