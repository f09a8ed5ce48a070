import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { HarnessBusyError, type HarnessTurnOpts, type Session, type UIEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import type { CodexHarness } from '../../src/codex/harness.ts'
import {
  bodies,
  collect,
  collectAnd,
  expectOneEnd,
  lastBody,
  ofType,
  statuses,
  told,
} from './support/events.ts'
import { useWorld, VOICES } from './support/world.ts'

const world = useWorld()

const isInit = (event: UIEvent) => event.type === 'session:init'
const isDelta = (event: UIEvent) => event.type === 'chat:delta'
const spawnedPids = () =>
  world.logs.flatMap(({ event, data }) => (event === 'process:spawn' ? [data?.pid] : []))

/** One turn; the session learns the agent's id from it, as a session store would. */
async function turn(harness: CodexHarness, session: Session, message: string, opts?: HarnessTurnOpts) {
  const events = await collect(harness.startTurn(session, message, opts))
  const [init] = ofType(events, 'session:init').slice(-1)
  const usage = ofType(events, 'session:complete')[0]?.usage
  return { events, id: init?.claudeSessionId ?? null, model: init?.model, usage }
}

describe.each(VOICES)('sessions of Codex through $voice', ({ voice }) => {
  test('a later turn resumes the conversation, counts only its own tokens and keeps the model', async () => {
    const model = await world.model({ answers: ['My name is Ada.', 'Ada, as I said.', 'Still Ada.'] })
    const harness = world.harness({ model, voice })
    const session = world.session()
    const first = await turn(harness, session, 'What is your name?', { model: 'gpt-5.5' })
    session.claudeSessionId = first.id
    const second = await turn(harness, session, 'Again?')
    // A new harness knows nothing of the first.
    await harness.close()
    const third = await turn(world.harness({ model, voice }), session, 'And now?')

    expect([second.id, third.id]).toEqual([first.id, first.id])
    for (const { events, usage, model: shown } of [first, second, third]) {
      expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
      expect(usage).toMatchObject({ input_tokens: 100, output_tokens: 20 })
      expect(shown).toBe('gpt-5.5')
    }
    for (const text of ['What is your name?', 'My name is Ada.', 'Again?', 'And now?'])
      expect(told(model)).toContain(text)
    expect(bodies(model).map(body => body.model)).toEqual(['gpt-5.5', 'gpt-5.5', 'gpt-5.5'])
    // Warm turns need no new process; a cold one does.
    expect(new Set(spawnedPids()).size).toBe(voice === 'exec' ? 3 : 2)
  })

  test('instructions are told again only when they change, whichever process resumes the thread', async () => {
    const model = await world.model({ answers: Array<string>(6).fill('Yes.') })
    const session = world.session()
    const calm = 'PERSONA-CALM: be calm.'
    const brisk = 'PERSONA-BRISK: be brisk.'
    for (const systemPromptAppend of [calm, calm, calm, brisk, brisk, calm]) {
      const harness = world.harness({ model, voice })
      session.claudeSessionId = (await turn(harness, session, 'Go', { systemPromptAppend })).id
      await harness.close()
    }
    const personas = bodies(model).map(({ input }) =>
      JSON.stringify(input)
        .match(/PERSONA-[A-Z]+/g)
        ?.join(),
    )
    const [CALM, BRISK] = ['PERSONA-CALM', 'PERSONA-BRISK']
    const changed = `${CALM},${BRISK}`
    expect(personas).toEqual([CALM, CALM, CALM, changed, changed, `${changed},${CALM}`])
  })

  test('a fork has a new id, the same model, and leaves the original as it was', async () => {
    const model = await world.model({ answers: ['One.', 'Forked.', 'Two.', 'Cold fork.'] })
    const harness = world.harness({ model, voice })
    const session = world.session()
    const original = await turn(harness, session, 'First message', { model: 'gpt-5.5' })
    session.claudeSessionId = original.id
    const fork = await turn(harness, session, 'In the fork', { forkSession: true })
    const back = await turn(harness, session, 'In the original')
    await harness.close()
    const cold = await turn(world.harness({ model, voice }), session, 'Later', { forkSession: true })

    expect(new Set([original.id, fork.id, cold.id]).size).toBe(3)
    expect(back.id).toBe(original.id)
    const texts = bodies(model).map(({ input }) => JSON.stringify(input))
    expect(texts[1]).toContain('First message')
    expect(texts[2]).not.toContain('In the fork')
    expect(texts[3]).toContain('In the original')
    expect(bodies(model).map(body => body.model)).toEqual(Array(4).fill('gpt-5.5'))
    for (const { usage } of [fork, back, cold]) expect(usage).toMatchObject({ input_tokens: 100 })
  })

  test.each([false, true])(
    'an id that Codex does not know starts afresh, and says so (fork: %s)',
    async forkSession => {
      const model = await world.model({ answers: ['A new start.'] })
      const missing = randomUUID()
      const session = world.session({ claudeSessionId: missing })
      const { events, id } = await turn(world.harness({ model, voice }), session, 'Go on', { forkSession })
      expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
      expect(ofType(events, 'session:error')).toMatchObject([{ code: 'session_not_found', recovered: true }])
      expect(statuses(events, 'resume_failed')).toMatchObject([{ data: { nativeSessionId: missing } }])
      expect(id).toMatch(/^[0-9a-f-]{36}$/)
      expect(id).not.toBe(missing)
      expect(told(model)).toContain('Go on')
      expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'A new start.' }])
    },
  )

  test('a name is refused: Codex would silently start a new thread for it', async () => {
    const model = await world.model({ otherwise: 'Never asked.' })
    const session = world.session({ claudeSessionId: 'my-thread' })
    const events = world.harness({ model, voice }).startTurn(session, 'Go on')
    await expect(events.next()).rejects.toMatchObject({
      code: 'invalid_query',
      message: expect.stringContaining('my-thread'),
    })
    expect(model.requests).toEqual([])
    expect(world.spools()).toEqual([])
  })

  test('a fork of a missing session is refused', async () => {
    const events = world.harness({ voice }).startTurn(world.session(), 'Hi', { forkSession: true })
    await expect(events.next()).rejects.toMatchObject({ code: 'invalid_query' })
  })

  test('a thread that another process has loaded is refused, and the error says what to do', async () => {
    const model = await world.model({ answers: ['Mine.', 'Forked.'] })
    const owner = world.harness({ model })
    const first = await turn(owner, world.session(), 'Hold it')
    const session = world.session({ claudeSessionId: first.id })
    const other = world.harness({ model, voice })
    const advice = /open in another program\. Close it there, or fork it/
    if (voice === 'app-server') {
      const events = other.startTurn(session, 'Take it')
      await expect(events.next()).rejects.toMatchObject({
        code: 'busy',
        message: expect.stringMatching(advice),
      })
    } else {
      const { events } = await turn(other, session, 'Take it')
      expect(expectOneEnd(events, voice)).toEqual({ reason: 'crashed' })
      expect(ofType(events, 'session:error')).toMatchObject([{ error: expect.stringMatching(advice) }])
    }
    expect(other.isRunning(session.id)).toBe(false)
    const fork = await turn(other, session, 'Then fork', { forkSession: true })
    expect(expectOneEnd(fork.events, voice)).toEqual({ reason: 'completed' })
  })

  test('a second turn while one runs is refused', async () => {
    const model = await world.model({ answers: [{ text: 'Slow.', chunkChars: 2, stallAfter: 1 }] })
    const harness = world.harness({ model, voice })
    const session = world.session()
    const isBegun = voice === 'exec' ? isInit : isDelta
    const events = await collectAnd(harness.startTurn(session, 'Slow'), isBegun, async () => {
      await expect(harness.startTurn(session, 'Again').next()).rejects.toThrow(HarnessBusyError)
      expect(harness.isRunning(session.id)).toBe(true)
      await model.waitForRequest(({ state }) => state === 'stalled')
      model.release()
    })
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
  })

  test('the next turn can start as soon as the last event is emitted', async () => {
    const model = await world.model({ answers: ['One.', 'Two.'] })
    const harness = world.harness({ model, voice })
    const session = world.session()
    let next: UIEvent[] = []
    const last = voice === 'exec' ? 'process:exit' : 'turn:end'
    for await (const event of harness.startTurn(session, 'First')) {
      if (event.type === last) next = await collect(harness.startTurn(session, 'Second'))
    }
    expect(ofType(next, 'chat:complete')).toMatchObject([{ text: 'Two.' }])
    expect(harness.isRunning(session.id)).toBe(false)
  })
})

describe('sessions in one app-server', () => {
  const SLOW = { text: 'Slow answer.', chunkChars: 2, stallAfter: 2 }

  test('run at once in one process; the kill of one does not hurt the other', async () => {
    const model = await world.model({
      routes: [{ when: { lastUserContains: 'second' }, answers: [SLOW] }],
      answers: [SLOW],
    })
    const harness = world.harness({ model })
    const [one, two] = [world.session(), world.session()]
    let killed: Promise<UIEvent[]> = Promise.resolve([])
    const survivor = await collectAnd(harness.startTurn(one, 'first'), isDelta, async () => {
      killed = collectAnd(harness.startTurn(two, 'second'), isDelta, () => harness.kill(two.id))
      expect(expectOneEnd(await killed, 'app-server')).toEqual({ reason: 'killed' })
      model.release()
    })
    expect(expectOneEnd(survivor, 'app-server')).toEqual({ reason: 'completed' })
    expect(ofType(survivor, 'chat:complete')).toMatchObject([{ text: 'Slow answer.' }])
    expect(survivor.every(({ sessionId }) => sessionId === one.id)).toBe(true)
    expect((await killed).every(({ sessionId }) => sessionId === two.id)).toBe(true)
    expect(spawnedPids()).toHaveLength(1)
  })

  test('cannot share one thread while a turn of it runs', async () => {
    const model = await world.model({ answers: ['One.', SLOW] })
    const harness = world.harness({ model })
    const session = world.session()
    const first = await turn(harness, session, 'First')
    session.claudeSessionId = first.id
    const twin = world.session({ claudeSessionId: first.id })
    const events = await collectAnd(harness.startTurn(session, 'Second'), isDelta, async () => {
      await expect(harness.startTurn(twin, 'Mine too').next()).rejects.toMatchObject({ code: 'busy' })
      model.release()
    })
    expect(expectOneEnd(events, 'app-server')).toEqual({ reason: 'completed' })
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'Slow answer.' }])
  })

  test('of two projects do not share one, so that no raw log holds what was said elsewhere', async () => {
    const model = await world.model({ answers: ['One.', 'Two.'] })
    const harness = world.harness({ model })
    await turn(harness, world.session(), 'Here')
    await turn(harness, world.session({ projectRoot: world.home }), 'There')
    expect(spawnedPids()).toHaveLength(2)
    expect(world.spools()).toHaveLength(1)
  })

  test('an idle server is ended after a while, and the next turn starts another', async () => {
    const model = await world.model({ answers: ['One.', 'Two.'] })
    const ended = deferred()
    const harness = world.harness({
      model,
      idleMs: 1,
      onLog: ({ event }) => event === 'process:exit' && ended.resolve(undefined),
    })
    const session = world.session()
    session.claudeSessionId = (await turn(harness, session, 'First')).id
    await ended.promise
    const { events, id } = await turn(harness, session, 'Second')
    expect(expectOneEnd(events, 'app-server')).toEqual({ reason: 'completed' })
    expect(id).toBe(session.claudeSessionId)
    expect(spawnedPids()).toHaveLength(2)
  })

  test('a server that dies ends the turn once, and the next turn runs in a new one', async () => {
    const model = await world.model({ answers: [SLOW, 'Alive again.', 'And again.', 'And again.'] })
    const log = new EventEmitter()
    const harness = world.harness({ model, onLog: ({ event }) => log.emit(event) })
    const session = world.session()
    const events = await collectAnd(harness.startTurn(session, 'Hi'), isDelta, () =>
      process.kill(Number(spawnedPids()[0]), 'SIGKILL'),
    )
    expect(expectOneEnd(events, 'app-server')).toEqual({ reason: 'crashed' })
    expect(ofType(events, 'session:error')).toMatchObject([
      { code: 'process_crashed', error: expect.stringContaining('The next turn starts it again') },
    ])
    session.claudeSessionId = ofType(events, 'session:init')[0]?.claudeSessionId ?? null
    const next = await turn(harness, session, 'Still there?')
    expect(expectOneEnd(next.events, 'app-server')).toEqual({ reason: 'completed' })
    expect(lastBody(model).input.length).toBeGreaterThan(2)
    expect(spawnedPids()).toHaveLength(2)

    // Without a listener the next turn reports an exit between turns.
    const died = once(log, 'process:exit')
    process.kill(Number(spawnedPids()[1]), 'SIGKILL')
    await died
    const last = await turn(harness, session, 'And now?')
    const told = statuses(last.events, 'notice').filter(({ data }) => data?.kind === 'restarted')
    expect(told).toMatchObject([
      { message: 'Codex was ended by SIGKILL. The conversation goes on in a new process.' },
    ])
    expect(ofType(last.events, 'chat:complete')).toMatchObject([{ text: 'And again.' }])

    // With one it is reported at once, and only then.
    const heard = new EventEmitter()
    const onBetweenTurns = (events: UIEvent[]) => heard.emit('events', events)
    await collect(harness.startTurn(session, 'Go on', { onBetweenTurns }))
    const exit = once(heard, 'events')
    process.kill(Number(spawnedPids().at(-1)), 'SIGKILL')
    expect((await exit)[0]).toMatchObject([
      { message: 'Codex was ended by SIGKILL while no turn ran. The next message starts it again.' },
      { type: 'process:exit', code: null, signal: 'SIGKILL' },
    ])
  })
})

test('an exec that dies ends the turn once, and the next turn works', async () => {
  const model = await world.model({ answers: [{ text: 'Never said.', stallAfter: 0 }, 'Alive again.'] })
  const harness = world.harness({ model, voice: 'exec' })
  const session = world.session()
  const events = await collectAnd(harness.startTurn(session, 'Hi'), isInit, async () => {
    await model.waitForRequest(({ state }) => state === 'stalled')
    process.kill(Number(spawnedPids()[0]), 'SIGKILL')
  })
  expect(expectOneEnd(events, 'exec')).toEqual({ reason: 'crashed' })
  expect(ofType(events, 'session:error')).toMatchObject([{ code: 'process_crashed' }])
  session.claudeSessionId = ofType(events, 'session:init')[0]?.claudeSessionId ?? null
  const next = await turn(harness, session, 'Still there?')
  expect(expectOneEnd(next.events, 'exec')).toEqual({ reason: 'completed' })
})

test('a message to a running turn is taken up at once, and refused when none runs', async () => {
  const model = await world.model({
    answers: [{ text: 'I begin.', chunkChars: 2, stallAfter: 2 }, 'As you wish.'],
  })
  const harness = world.harness({ model })
  const session = world.session()
  expect(await harness.steer?.(session.id, 'Too early')).toBe(false)
  const events = await collectAnd(harness.startTurn(session, 'Begin'), isDelta, async () => {
    expect(await harness.steer?.(session.id, 'Turn left instead')).toBe(true)
    model.release()
  })
  expect(expectOneEnd(events, 'app-server')).toEqual({ reason: 'completed' })
  expect(told(model)).toContain('Turn left instead')
  expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'As you wish.' }])
  expect(await harness.steer?.(session.id, 'Too late')).toBe(false)
})

test('exec takes no message while it runs, so there is no method to give it one', () => {
  const harness = world.harness({ voice: 'exec' })
  expect(harness.capabilities().supportsSteering).toBe(false)
  expect(harness.steer).toBeUndefined()
})

function deferred() {
  let resolve: (value: unknown) => void = () => {}
  const promise = new Promise(done => {
    resolve = done
  })
  return { promise, resolve }
}
