import { randomUUID } from 'node:crypto'
import { HarnessBusyError, type HarnessTurnOpts, type Session, type UIEvent } from '@chirality/core'
import { claudeVersions } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import type { ClaudeCodeHarness } from '../../src/claude-code/harness.ts'
import {
  bodies,
  collect,
  collectAnd,
  expectOneEnd,
  lastBody,
  ofType,
  statuses,
  systemText,
} from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

describe.each(claudeVersions())('sessions of Claude Code $version', ({ path: binary }) => {
  /** One turn; the session learns the agent's id from it, as a session store would. */
  async function turn(harness: ClaudeCodeHarness, session: Session, message: string, opts?: HarnessTurnOpts) {
    const events = await collect(harness.startTurn(session, message, opts))
    const id = ofType(events, 'session:init').at(-1)?.claudeSessionId ?? null
    return { events, id }
  }

  test('a later turn resumes the conversation under the same id', async () => {
    const model = await world.model({ answers: ['My name is Ada.', 'Ada, as I said.'] })
    const harness = world.harness(binary, { model })
    const session = world.session()
    const newSessionId = randomUUID()
    const first = await turn(harness, session, 'What is your name?', { newSessionId })
    session.claudeSessionId = first.id
    const second = await turn(harness, session, 'Again?')

    // The wished id is the one that the agent uses.
    expect(first.id).toBe(newSessionId)
    expect(second.id).toBe(first.id)
    expect(expectOneEnd(second.events)).toEqual({ reason: 'completed' })
    const told = JSON.stringify(lastBody(model).messages)
    expect(told).toContain('What is your name?')
    expect(told).toContain('My name is Ada.')
    expect(told).toContain('Again?')
    // The running total of the conversation must not be charged twice.
    const costs = [first, second].map(({ events }) => ofType(events, 'session:complete')[0]?.costUsd)
    expect(costs[0]).toBe(costs[1])
    expect(world.logs.map(({ event }) => event)).not.toContain('session:other-id')
    expect(world.logs).toContainEqual(
      expect.objectContaining({ event: 'resume:attempt', data: { claudeSessionId: first.id } }),
    )
  })

  test('an appended system prompt that changes on resume reaches the model', async () => {
    const model = await world.model({ otherwise: 'Yes.' })
    const harness = world.harness(binary, { model })
    const session = world.session()
    const { id } = await turn(harness, session, 'One', { systemPromptAppend: 'Persona number one.' })
    session.claudeSessionId = id
    const { events } = await turn(harness, session, 'Two', { systemPromptAppend: 'Persona number two.' })

    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(systemText(lastBody(model))).toContain('Persona number two.')
    expect(JSON.stringify(lastBody(model).system)).not.toContain('Persona number one.')
  })

  test('a fork has a new id and leaves the original as it was', async () => {
    const model = await world.model({ answers: ['One.', 'Forked.', 'Two.'] })
    const harness = world.harness(binary, { model })
    const session = world.session()
    const original = await turn(harness, session, 'First message')
    session.claudeSessionId = original.id
    const newSessionId = randomUUID()
    const fork = await turn(harness, session, 'In the fork', { forkSession: true, newSessionId })
    const back = await turn(harness, session, 'In the original')

    expect(fork.id).toBe(newSessionId)
    expect(back.id).toBe(original.id)
    const [, forked, resumed] = bodies(model).map(body => JSON.stringify(body.messages))
    expect(forked).toContain('First message')
    expect(resumed).toContain('First message')
    expect(resumed).not.toContain('In the fork')
  })

  test('an id that the agent does not know starts afresh, and says so', async () => {
    const model = await world.model({ answers: ['A new start.'] })
    const missing = randomUUID()
    const session = world.session({ claudeSessionId: missing })
    // With files, so that those of the failed attempt would be seen if they were left behind.
    const opts = { systemPromptAppend: 'Some persona.' }
    const { events, id } = await turn(world.harness(binary, { model }), session, 'Go on', opts)

    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(shapeOf(events)).toEqual([
      'turn:start',
      'session:error',
      'status:resume_failed',
      'session:init',
      'chat:complete',
      'session:complete',
      'turn:end',
      'process:exit',
    ])
    expect(ofType(events, 'session:error')).toMatchObject([{ code: 'session_not_found', recovered: true }])
    expect(statuses(events, 'resume_failed')).toMatchObject([{ data: { nativeSessionId: missing } }])
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
    expect(id).not.toBe(missing)
    expect(JSON.stringify(lastBody(model).messages)).toContain('Go on')
    expect(world.logs).toContainEqual(expect.objectContaining({ level: 'warn', event: 'resume:failed' }))
    expect(world.spools()).toHaveLength(2)
  })

  test('a second turn while one runs is refused; another session is not', async () => {
    const model = await world.model({
      answers: [{ text: 'Slow answer.', chunkChars: 2, stallAfter: 2 }],
      routes: [{ when: { lastUserContains: 'other session' }, answers: ['Quick answer.'] }],
    })
    const harness = world.harness(binary, { model })
    const session = world.session()
    const isDelta = (event: UIEvent) => event.type === 'chat:delta'
    let others: UIEvent[] = []
    const events = await collectAnd(harness.startTurn(session, 'Slow'), isDelta, async () => {
      await expect(harness.startTurn(session, 'Again').next()).rejects.toThrow(HarnessBusyError)
      expect(harness.isRunning(session.id)).toBe(true)
      others = await collect(harness.startTurn(world.session(), 'I am the other session'))
      model.release()
    })
    expect(expectOneEnd(others)).toEqual({ reason: 'completed' })
    expect(ofType(others, 'chat:complete')).toMatchObject([{ text: 'Quick answer.' }])
    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'Slow answer.' }])
    const ids = new Set([...events, ...others].map(event => event.sessionId))
    expect(ids.size).toBe(2)
    expect(harness.isRunning(session.id)).toBe(false)
  })

  test('the next turn can start as soon as process:exit is emitted', async () => {
    const model = await world.model({ answers: ['One.', 'Two.'] })
    const harness = world.harness(binary, { model })
    const session = world.session()
    let next: UIEvent[] = []
    for await (const event of harness.startTurn(session, 'First')) {
      if (event.type === 'process:exit') next = await collect(harness.startTurn(session, 'Second'))
    }
    expect(ofType(next, 'chat:complete')).toMatchObject([{ text: 'Two.' }])
    expect(harness.isRunning(session.id)).toBe(false)
  })
})

/** The events that tell the course of a turn. */
function shapeOf(events: UIEvent[]): string[] {
  const course = /^(turn:|session:|process:|chat:complete)/
  return events.flatMap(event => {
    if (event.type === 'status') return event.status === 'resume_failed' ? ['status:resume_failed'] : []
    return course.test(event.type) ? [event.type] : []
  })
}
