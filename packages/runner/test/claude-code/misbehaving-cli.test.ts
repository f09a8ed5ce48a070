import { readFileSync, statSync } from 'node:fs'
import type { UIEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import type { ClaudeCodeHarness } from '../../src/claude-code/harness.ts'
import { claudeProgram } from '../../src/claude-code/turn-program.ts'
import { emitted } from '../../src/turn/emitted.ts'
import { processTurn, startedAttempts } from '../../src/turn/process-turn.ts'
import { collect, collectAnd, expectOneEnd, ofType, statuses } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const isInit = (event: UIEvent) => event.type === 'session:init'
/** For a step that the agent is known to ignore: nothing is gained by waiting longer. */
const AT_ONCE_MS = 1

describe('a CLI that prints what is no event', () => {
  test('loses no event around it; each bad line is shown as unknown and logged', async () => {
    const harness = world.harness(world.fake('fake-claude-garbage'))
    const events = await collect(harness.startTurn(world.session(), 'Hi'))

    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'Still here.' }])
    expect(ofType(events, 'native:unknown').map(({ nativeType }) => nativeType)).toEqual([
      'malformed',
      'malformed',
      'malformed',
      'not-an-object',
      'not-an-object',
      'malformed',
      'malformed',
    ])
    const logged = world.logs.filter(({ event }) => event === 'parse:error')
    expect(logged).toHaveLength(5)
    expect(logged[0]).toMatchObject({ level: 'warn', data: { line: 'Welcome to the agent!' } })
  })

  test('loses nothing in a query either', async () => {
    const harness = world.harness(world.fake('fake-claude-garbage'))
    const events = await collect(harness.query(world.query()))
    const types = events.map(event => (event.type === 'message' ? event.message.type : event.type))
    expect(types).toContain('complete')
    expect(types.filter(type => type === 'unknown')).toHaveLength(7)
    expect(world.logs.filter(({ event }) => event === 'parse:error')).toHaveLength(5)
  })

  test('events of a future release are kept whole', async () => {
    const harness = world.harness(world.fake('fake-claude-unknown'))
    const events = await collect(harness.startTurn(world.session(), 'Hi'))
    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(ofType(events, 'native:unknown')).toMatchObject([
      { nativeType: 'telepathy', raw: { thought: 'hello' } },
      { nativeType: 'system/mood_changed', raw: { mood: 'good' } },
    ])
  })

  test('a line of 30 MB arrives whole', async () => {
    const harness = world.harness(world.fake('fake-claude-huge-line', '30'))
    const events = await collect(harness.startTurn(world.session(), 'Hi'))
    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(ofType(events, 'chat:complete')[0]?.text.length).toBe(30 * 1024 * 1024)
    expect(ofType(events, 'chat:message')[0]?.text.length).toBe(30 * 1024 * 1024)
  })

  test('a line over the cap is passed over, and the turn still ends well', async () => {
    const harness = world.harness(world.fake('fake-claude-huge-line', '65'))
    const events = await collect(harness.startTurn(world.session(), 'Hi'))
    // Its result was over the cap too, so there is none.
    expect(expectOneEnd(events)).toEqual({ reason: 'crashed' })
    expect(ofType(events, 'native:unknown').map(({ nativeType }) => nativeType)).toEqual([
      'oversize',
      'oversize',
    ])
    expect(statSync(world.spools()[0] ?? '').size).toBeGreaterThan(2 * 65 * 1024 * 1024)
  })
})

describe('a CLI that ends badly', () => {
  test('exits early: the error has the code and what it said', async () => {
    const harness = world.harness(world.fake('fake-claude-early-exit'))
    const session = world.session()
    const events = await collect(harness.startTurn(session, 'Hi'))
    expect(expectOneEnd(events)).toEqual({ reason: 'crashed' })
    expect(events.at(-3)).toEqual({
      type: 'session:error',
      sessionId: session.id,
      error: 'Claude Code exited with code 7 without a result. It said: fatal: the disk is on fire',
      code: 'process_crashed',
    })
    expect(events.at(-1)).toMatchObject({ code: 7, signal: null })
    expect(world.logs).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        event: 'stderr',
        data: { line: 'fatal: the disk is on fire' },
      }),
    )
    const [spool = ''] = world.spools()
    expect(readFileSync(spool.replace(/\.ndjson$/, '.stderr'), 'utf8')).toBe('fatal: the disk is on fire\n')
  })

  test('exits early in a query: an error event, not an exception', async () => {
    const harness = world.harness(world.fake('fake-claude-early-exit'))
    const events = await collect(harness.query(world.query()))
    expect(events).toContainEqual({ type: 'stderr', data: 'fatal: the disk is on fire' })
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      code: 'process_crashed',
      error: expect.stringContaining('exited with code 7'),
    })
  })

  test('is killed from outside: the error names the signal', async () => {
    const harness = world.harness(world.fake('fake-claude-stubborn'))
    const pid = () => Number(world.logs.find(({ event }) => event === 'process:spawn')?.data?.pid)
    const events = await collectAnd(harness.startTurn(world.session(), 'Hi'), isInit, () =>
      process.kill(pid(), 'SIGKILL'),
    )
    expect(expectOneEnd(events)).toEqual({ reason: 'crashed' })
    expect(ofType(events, 'session:error')).toMatchObject([{ error: expect.stringContaining('SIGKILL') }])
    expect(events.at(-1)).toMatchObject({ code: null, signal: 'SIGKILL' })
  })

  test('leaves children behind: they are stopped, and the user is told', async () => {
    const harness = world.harness(world.fake('fake-claude-leaves-children'))
    const events = await collect(harness.startTurn(world.session(), 'Hi'))
    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(statuses(events, 'cleanup')).toMatchObject([
      { level: 'warn', message: 'Stopped 2 processes that the agent left behind.', data: { count: 2 } },
    ])
  })

  test('leaves children behind in a query: they are stopped', async () => {
    const harness = world.harness(world.fake('fake-claude-leaves-children'))
    const events = await collect(harness.query(world.query()))
    expect(events.at(-1)?.type).toBe('complete')
  })
})

describe('trouble on our own side', () => {
  test('a failing log listener does not fail the turn', async () => {
    const onLog = () => {
      throw new Error('the disk is full')
    }
    const harness = world.harness(world.fake('fake-claude-early-exit'), { onLog })
    const events = await collect(harness.startTurn(world.session(), 'Hi'))
    expect(expectOneEnd(events)).toEqual({ reason: 'crashed' })
    expect((await collect(harness.query(world.query()))).at(-1)).toMatchObject({ code: 'process_crashed' })
  })

  test('an error while reading still ends the turn as an event, and the agent with it', async () => {
    const config = { binaryPath: world.fake('fake-claude-stubborn') }
    const program = claudeProgram({ config, environment: { TMPDIR: world.temporary } })
    const source = startedAttempts(world.query(), program)
    const turn = processTurn({ program, session: world.session(), turnId: 'turn', source })
    const batches = emitted<UIEvent[]>(emit => turn.run(emit))
    const first = await batches.next()
    const init = await batches.next()
    const error = await batches.throw(new Error('the raw log cannot be read'))
    const all = [first, init, error].flatMap(({ value }) => value as UIEvent[])
    for await (const batch of batches) all.push(...batch)
    expect(expectOneEnd(all)).toEqual({ reason: 'crashed' })
    expect(ofType(all, 'session:error')).toMatchObject([
      { code: 'process_crashed', error: 'the raw log cannot be read' },
    ])
  })
})

describe('a CLI that hangs', () => {
  test('ignores SIGINT: the ladder goes on to SIGTERM', async () => {
    const stop = { interruptGraceMs: AT_ONCE_MS, termGraceMs: 600_000 }
    const harness = world.harness(world.fake('fake-claude-stubborn', 'SIGINT'), { stop })
    const session = world.session()
    const events = await collectAnd(harness.startTurn(session, 'Hi'), isInit, () =>
      harness.interrupt(session.id),
    )
    expect(expectOneEnd(events)).toEqual({ reason: 'interrupted' })
    expect(ofType(events, 'session:error')).toMatchObject([{ code: 'interrupted' }])
    expect(events.at(-1)).toMatchObject({ signal: 'SIGTERM' })
  })

  test('ignores SIGTERM too: the ladder ends it with SIGKILL', async () => {
    const stop = { interruptGraceMs: AT_ONCE_MS, termGraceMs: AT_ONCE_MS }
    const harness = world.harness(world.fake('fake-claude-stubborn', 'SIGINT', 'SIGTERM'), { stop })
    const session = world.session()
    const events = await collectAnd(harness.startTurn(session, 'Hi'), isInit, () =>
      harness.interrupt(session.id),
    )
    expect(expectOneEnd(events)).toEqual({ reason: 'interrupted' })
    expect(events.at(-1)).toMatchObject({ signal: 'SIGKILL' })
  })

  test('the signal of the caller is an interrupt', async () => {
    const abort = new AbortController()
    const harness = world.harness(world.fake('fake-claude-stubborn'))
    const turn = harness.startTurn(world.session(), 'Hi', { signal: abort.signal })
    const events = await collectAnd(turn, isInit, () => abort.abort())
    expect(expectOneEnd(events)).toEqual({ reason: 'interrupted' })
    expect(events.at(-1)).toMatchObject({ signal: 'SIGINT' })
  })

  test('a kill after an interrupt does not wait for it', async () => {
    // The interrupt alone would wait for ten minutes.
    const harness = world.harness(world.fake('fake-claude-stubborn', 'SIGINT'))
    const session = world.session()
    const events = await collectAnd(harness.startTurn(session, 'Hi'), isInit, () => {
      harness.interrupt(session.id)
      harness.kill(session.id)
      harness.kill(session.id)
    })
    expect(expectOneEnd(events)).toEqual({ reason: 'killed' })
    expect(events.at(-1)).toMatchObject({ signal: 'SIGTERM' })
  })

  test('a stop in the very moment of the start is not lost', async () => {
    const session = world.session()
    const harness: ClaudeCodeHarness = world.harness(world.fake('fake-claude-stubborn'), {
      onLog: ({ event }) => event === 'process:spawn' && harness.interrupt(session.id),
    })
    const events = await collect(harness.startTurn(session, 'Hi'))
    expect(expectOneEnd(events)).toEqual({ reason: 'interrupted' })
    expect(world.spools()).toHaveLength(1)
  })

  test('a kill while it starts skips the interrupt', async () => {
    const harness = world.harness(world.fake('fake-claude-stubborn', 'SIGINT'))
    const session = world.session()
    const events = harness.startTurn(session, 'Hi')
    const first = events.next()
    harness.kill(session.id)
    const all = [(await first).value, ...(await collect(events))]
    expect(expectOneEnd(all)).toEqual({ reason: 'killed' })
  })

  test('in a query: the abort ends it without an error', async () => {
    const abort = new AbortController()
    const stop = { interruptGraceMs: AT_ONCE_MS, termGraceMs: AT_ONCE_MS }
    const harness = world.harness(world.fake('fake-claude-stubborn', 'SIGINT', 'SIGTERM'), { stop })
    const events = await collectAnd(
      harness.query(world.query({ signal: abort.signal })),
      event => event.type === 'session_started',
      () => abort.abort(),
    )
    expect(events.map(({ type }) => type)).toEqual(['session_started', 'message'])
  })

  test('the user is told of the silence, and the turn goes on', async () => {
    const harness = world.harness(world.fake('fake-claude-stubborn'))
    const session = world.session()
    const isStalled = (event: UIEvent) => event.type === 'status' && event.status === 'stalled'
    const events = await collectAnd(harness.startTurn(session, 'Hi', { stallMs: 10 }), isStalled, () =>
      harness.kill(session.id),
    )
    expect(expectOneEnd(events)).toEqual({ reason: 'killed' })
    expect(statuses(events, 'stalled')[0]).toMatchObject({
      level: 'warn',
      data: { idleMs: expect.any(Number) },
    })
  })
})

describe('a CLI that answers and does not exit', () => {
  test('is ended after a while; the answer counts', async () => {
    const harness = world.harness(world.fake('fake-claude-never-exits'), { lingerMs: 10 })
    const events = await collect(harness.startTurn(world.session(), 'Hi', { stallMs: 5 }))
    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(ofType(events, 'session:error')).toEqual([])
    expect(statuses(events, 'cleanup')).toMatchObject([
      { message: 'The agent had answered but did not exit, so it was ended.' },
    ])
    expect(world.logs).toContainEqual(expect.objectContaining({ event: 'process:linger' }))
  })

  test('is ended after a while in a query and a run too', async () => {
    const harness = world.harness(world.fake('fake-claude-never-exits'), { lingerMs: 10 })
    const events = await collect(harness.query(world.query()))
    expect(events.at(-1)?.type).toBe('complete')
    expect(await harness.run({ cwd: world.project, prompt: 'Hi' })).toMatchObject({ finalText: 'Answered.' })
  })

  test('is left alone while something runs in the background', async () => {
    const harness = world.harness(world.fake('fake-claude-never-exits', 'task'), { lingerMs: 1 })
    const session = world.session()
    let answered = false
    let stalls = 0
    // Two silences later it is still there; without the task the first would have ended it.
    const isSecondStall = (event: UIEvent) => {
      answered ||= event.type === 'session:complete'
      if (answered && event.type === 'status' && event.status === 'stalled') stalls += 1
      return stalls === 2
    }
    const events = await collectAnd(harness.startTurn(session, 'Hi', { stallMs: 20 }), isSecondStall, () =>
      harness.interrupt(session.id),
    )
    // What was in the background was cut short, so the turn was.
    expect(expectOneEnd(events)).toEqual({ reason: 'interrupted' })
  })
})

describe('a CLI that chooses its own id', () => {
  test('is believed, and the log tells of it', async () => {
    const harness = world.harness(world.fake('fake-claude-unknown'))
    const newSessionId = '00000000-0000-4000-8000-000000000001'
    const events = await collect(harness.startTurn(world.session(), 'Hi', { newSessionId }))
    const [init] = ofType(events, 'session:init')
    expect(init?.claudeSessionId).not.toBe(newSessionId)
    const data = { expected: newSessionId, claudeSessionId: init?.claudeSessionId }
    expect(world.logs).toContainEqual(
      expect.objectContaining({ level: 'warn', event: 'session:other-id', data }),
    )
  })
})

describe('a CLI that forgets', () => {
  test('a new start that fails ends the turn as an event', async () => {
    const harness = world.harness(world.fake('fake-claude-forgetful', 'vanish'))
    const session = world.session({ claudeSessionId: 'gone' })
    const events = await collect(harness.startTurn(session, 'Hi', { systemPromptAppend: 'Persona' }))
    expect(expectOneEnd(events)).toEqual({ reason: 'failed' })
    expect(ofType(events, 'session:error')).toMatchObject([
      { code: 'session_not_found', recovered: true },
      { code: 'not_installed', error: expect.stringContaining('does not exist') },
    ])
    expect(events.at(-1)).toMatchObject({ code: null, signal: null })
    expect(harness.isRunning(session.id)).toBe(false)
  })

  test('a stop during the failed attempt means no new start', async () => {
    const harness = world.harness(world.fake('fake-claude-forgetful'))
    const session = world.session({ claudeSessionId: 'gone' })
    const isError = (event: UIEvent) => event.type === 'session:error'
    const events = await collectAnd(harness.startTurn(session, 'Hi'), isError, () => harness.kill(session.id))
    expect(expectOneEnd(events)).toEqual({ reason: 'killed' })
    expect(ofType(events, 'session:init')).toEqual([])
    expect(world.spools()).toHaveLength(1)
  })

  test('a stop between the attempts means no new start either', async () => {
    const harness = world.harness(world.fake('fake-claude-forgetful'))
    const session = world.session({ claudeSessionId: 'gone' })
    const isResumeFailed = (event: UIEvent) => event.type === 'status' && event.status === 'resume_failed'
    const events = await collectAnd(harness.startTurn(session, 'Hi'), isResumeFailed, () =>
      harness.interrupt(session.id),
    )
    expect(expectOneEnd(events)).toEqual({ reason: 'interrupted' })
    expect(ofType(events, 'session:init')).toEqual([])
    expect(world.spools()).toHaveLength(1)
  })
})
