import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { PermissionDecision, UIEvent } from '@chirality/core'
import { claudeVersions } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { findByMarker } from '../../../src/process/system/leftovers.ts'
import { filesWith } from '../../support/files-with.ts'
import { untilGone } from '../../support/programs.ts'
import { nothingLeft } from '../../support/turns.ts'
import { lastBody, ofType } from '../support/events.ts'
import { BYPASS, useWarmWorld } from '../support/warm.ts'

describe.each(claudeVersions())('when a kept Claude Code $version ends', ({ path: binary }) => {
  const world = useWarmWorld(binary)

  test('in a turn, the turn says so; the next one goes on in another, with one word about it', async () => {
    const model = await world.model({
      answers: ['First.', { text: 'one two three', chunkChars: 4, stallAfter: 2 }, 'Third.', 'Fourth.'],
    })
    const { turn, events, pids } = world.chat({ model })
    await turn('remember the word zebra')
    const second = []
    for await (const event of events('count')) {
      second.push(event)
      if (event.type === 'chat:delta') process.kill(pids()[1] ?? 0, 'SIGKILL')
    }
    expect(second.slice(-2)).toMatchObject([
      { type: 'turn:end', reason: 'crashed' },
      { type: 'process:exit', code: null, signal: 'SIGKILL' },
    ])
    expect(ofType(second, 'session:error')).toMatchObject([
      { code: 'process_crashed', error: expect.stringContaining('SIGKILL') },
    ])
    const third = await turn('go on')
    expect(restarts(third)).toEqual([
      'Claude Code was ended by SIGKILL. The conversation goes on in a new process.',
    ])
    expect(ofType(third, 'chat:complete')).toMatchObject([{ text: 'Third.' }])
    expect(JSON.stringify(lastBody(model).messages)).toContain('zebra')
    expect(restarts(await turn('and on'))).toEqual([])
    expect(new Set(pids()).size).toBe(2)
  })

  test('between turns, the next one goes on in another, with one word about it', async () => {
    const model = await world.model({ otherwise: 'Yes.' })
    const { turn, pids } = world.chat({ model })
    await turn('remember the word zebra')
    // The agent writes its transcript when it has time; what is not in it yet dies with it.
    const isWritten = () => filesWith(world.home, 'Yes.').some(name => name.endsWith('.jsonl'))
    while (!isWritten()) await pause(POLL_MS)
    process.kill(pids()[0] ?? 0, 'SIGKILL')
    await untilGone(pids()[0] ?? 0)
    const second = await turn('go on')
    expect(restarts(second)).toHaveLength(1)
    expect(second.at(-1)).toMatchObject({ type: 'turn:end', reason: 'completed' })
    expect(JSON.stringify(lastBody(model).messages)).toContain('zebra')

    // Whoever listens is told at once, and the next turn does not repeat it.
    const { told, onBetweenTurns, until } = listener()
    await turn('go on', { onBetweenTurns })
    expect(told).toEqual([])
    process.kill(pids().at(-1) ?? 0, 'SIGKILL')
    expect(await until('process:exit')).toMatchObject({ code: null, signal: 'SIGKILL' })
    expect(told).toMatchObject([
      {
        type: 'status',
        message: 'Claude Code was ended by SIGKILL while no turn ran. The next message starts it again.',
      },
      { type: 'process:exit', ...nothingLeft() },
    ])
    const last = await turn('and on', { onBetweenTurns })
    expect(restarts(last)).toEqual([])
    expect(last.at(-1)).toMatchObject({ type: 'turn:end', reason: 'completed' })
    expect(told).toHaveLength(2)
  })

  test('because it was killed with its turn, all that it started goes, and nobody is told', async () => {
    const started = path.join(world.project, 'started')
    const command = `sh -c 'sleep 600 & touch ${started}; sleep 600'`
    const model = await world.model({
      answers: [{ tool: 'Bash', input: { command, description: 'x' } }, 'Next.'],
    })
    const { turn, harness, session } = world.chat({ model })
    const reading = turn('wait', BYPASS)
    await world.fileAppears(started)
    harness.kill(session.id)
    expect((await reading).slice(-2)).toMatchObject([
      { type: 'turn:end', reason: 'killed' },
      { type: 'process:exit', ...nothingLeft() },
    ])
    expect(await findByMarker(world.marker)).toEqual([])
    const next = await turn('next', BYPASS)
    expect(restarts(next)).toEqual([])
    expect(ofType(next, 'chat:complete')).toMatchObject([{ text: 'Next.' }])
  })
})

describe('kept agents', () => {
  const world = useWarmWorld(claudeVersions()[0]?.path ?? '')

  test.each(['kill', 'release'] as const)(
    'without a turn end by %s, with all that they started in the background',
    async how => {
      const started = path.join(world.project, 'started')
      const command = `setsid sh -c 'touch ${started}; sleep 600' > /dev/null 2>&1 &`
      const model = await world.model({
        answers: [{ tool: 'Bash', input: { command, description: 'x' } }, 'Started it.', 'Next.'],
      })
      const { turn, harness, session, pids } = world.chat({ model })
      await turn('start', BYPASS)
      await world.fileAppears(started)
      expect(harness.isRunning(session.id)).toBe(false)
      expect((await findByMarker(world.marker)).length).toBeGreaterThan(1)
      await harness[how](session.id)
      expect(await findByMarker(world.marker)).toEqual([])
      const next = await turn('next', BYPASS)
      expect(restarts(next)).toEqual([])
      expect(ofType(next, 'chat:complete')).toMatchObject([{ text: 'Next.' }])
      expect(new Set(pids()).size).toBe(2)
    },
  )

  test('end when nobody uses them, and nobody is told', async () => {
    const model = await world.model({ otherwise: 'Yes.' })
    const { turn, pids } = world.chat({ model, idleMs: 1 })
    await turn('remember the word zebra')
    await untilGone(pids()[0] ?? 0)
    const second = await turn('go on')
    expect(restarts(second)).toEqual([])
    expect(JSON.stringify(lastBody(model).messages)).toContain('zebra')
  })

  test('are not more than wanted: the least recently used goes first', async () => {
    const model = await world.model({ otherwise: 'Yes.' })
    const first = world.chat({ model, maxIdle: 1 })
    const second = world.chat({ with: first.harness })
    await first.turn('one')
    await second.turn('one')
    await untilGone(first.pids()[0] ?? 0)
    await second.turn('two')
    expect(new Set(second.pids()).size).toBe(1)
    await first.turn('two')
    await untilGone(second.pids()[0] ?? 0)
  })

  test('that work in the background are no idle ones, and a turn does not wait for ever', async () => {
    const { answer, end } = world.background()
    const model = await world.model({
      answers: [answer, 'Started it.', 'It is done.', 'Hello again.'],
    })
    const { turn, pids } = world.chat({ model, backgroundMs: 1, idleMs: 1, lingerMs: 1 })
    const first = await turn('start', BYPASS)
    expect(ofType(first, 'chat:complete')).toMatchObject([{ text: 'Started it.' }])
    expect(ofType(first, 'status').at(-1)).toMatchObject({ level: 'info', data: { kind: 'background' } })
    expect(first.at(-1)).toMatchObject({ type: 'turn:end', reason: 'completed' })
    end()
    await model.waitForRequest(({ served }) => served === 'answers[2]')
    await untilGone(pids()[0] ?? 0)
  })

  test('tell what they did between turns at the beginning of the next one', async () => {
    const { answer, end } = world.background()
    const model = await world.model({
      answers: [answer, 'Started it.', { text: 'It is done.', stallAfter: 0 }, 'Hello again.'],
    })
    const { turn, pids } = world.chat({ model, backgroundMs: 1 })
    await turn('start', BYPASS)
    end()
    await model.waitForRequest(({ state }) => state === 'stalled')
    const reading = turn('hello', BYPASS)
    model.release()
    const second = await reading
    expect(ofType(second, 'chat:complete').map(({ text }) => text)).toEqual(['It is done.', 'Hello again.'])
    expect(second.at(-1)).toMatchObject({ type: 'turn:end', reason: 'completed' })
    expect(new Set(pids()).size).toBe(1)
  })

  test('tell what they do between turns at once to whoever listens, and not again in the next turn', async () => {
    const { answer, end } = world.background()
    const model = await world.model({
      answers: [answer, 'Started it.', 'It is done.', 'Hello again.'],
    })
    const { turn, pids } = world.chat({ model, backgroundMs: 1 })
    const { told, onBetweenTurns, until } = listener()
    const first = await turn('start', { ...BYPASS, onBetweenTurns })
    expect(told).toEqual([])
    end()
    const result = await until('session:complete')
    expect(result).toMatchObject({ costUsd: expect.any(Number), usage: expect.any(Object) })
    expect(ofType(told, 'chat:complete').map(({ text }) => text)).toEqual(['It is done.'])
    const before = told.length
    const second = await turn('hello', { ...BYPASS, onBetweenTurns })
    expect(ofType(second, 'chat:complete').map(({ text }) => text)).toEqual(['Hello again.'])
    expect(ofType(second, 'session:complete')).toHaveLength(1)
    expect(told.slice(before)).toEqual([])
    expect(ofType(first, 'session:complete')).toHaveLength(1)
    expect(new Set(pids()).size).toBe(1)
  })

  test('tell a question of their own only in a turn, or as cancelled when they end before there is one', async () => {
    const { answer, end } = world.background()
    const asks = { tool: 'Bash', input: { command: 'touch asked-for', description: 'x' } }
    const model = await world.model({ answers: [answer, 'Started it.', asks] })
    const { turn, harness, session, processes } = world.chat({ model, backgroundMs: 1 })
    const { told, onBetweenTurns, until } = listener()
    const decide = async (): Promise<PermissionDecision> => ({ behavior: 'allow' })
    await turn('start', { permissionMode: 'default', decide, onBetweenTurns })
    end()
    await until('tool:start')
    const lines = () => readFileSync(processes[0]?.spoolPath ?? '', 'utf8').split('\n')
    const isQuestion = (line: string) => line.includes('can_use_tool') && line.includes('asked-for')
    while (!lines().some(isQuestion)) await pause(POLL_MS)
    expect(ofType(told, 'permission:request')).toEqual([])
    await harness.kill(session.id)
    const [request] = ofType(told, 'permission:request')
    expect(request).toMatchObject({ toolName: 'Bash', input: { command: 'touch asked-for' } })
    expect(ofType(told, 'permission:resolved')).toMatchObject([
      { requestId: request?.requestId, outcome: 'cancelled' },
    ])
  })
})

describe('an agent that is not as it should be', () => {
  const world = useWarmWorld('')

  test('one that exits at once ends the turn with its own words', async () => {
    const { turn } = world.chat({ binary: world.fake('fake-claude-early-exit') })
    const events = await turn('x'.repeat(2_000_000))
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'crashed' }])
    expect(ofType(events, 'session:error')).toMatchObject([{ code: 'process_crashed' }])
  })

  test('one that heeds no interrupt is ended', async () => {
    const { events, harness, session } = world.chat({
      binary: world.fake('fake-claude-stubborn'),
      stop: { interruptGraceMs: 1, termGraceMs: 1 },
    })
    const all = []
    for await (const event of events('hello')) {
      all.push(event)
      if (event.type === 'session:init') harness.interrupt(session.id)
    }
    expect(all.slice(-2)).toMatchObject([
      { type: 'turn:end', reason: 'interrupted' },
      { type: 'process:exit' },
    ])
    expect(await findByMarker(world.marker)).toEqual([])
  })

  test('a pending permission request causes no stall report', async () => {
    const asks = JSON.stringify({ subtype: 'can_use_tool', tool_name: 'Bash', input: {} })
    const { turn } = world.chat({ binary: world.fake('fake-claude-asks', asks) })
    const decide = () =>
      new Promise<PermissionDecision>(resolve => setTimeout(resolve, 50, { behavior: 'allow' }))
    const events = await turn('hello', { decide, stallMs: 1 })
    const asked = events.findIndex(({ type }) => type === 'permission:request')
    expect(events[asked + 1]).toMatchObject({ type: 'permission:resolved', outcome: 'allowed' })
    expect(events.at(-1)).toMatchObject({ type: 'turn:end', reason: 'completed' })
  })

  test.each<[string, object, object, object]>([
    [
      'an unknown question that is allowed',
      { subtype: 'from_the_future' },
      { behavior: 'allow' },
      { subtype: 'success', response: { behavior: 'allow', updatedInput: {} } },
    ],
    [
      'an unknown question that is denied',
      { subtype: 'from_the_future' },
      { behavior: 'deny', message: 'No.' },
      { subtype: 'error', error: 'No.' },
    ],
    [
      'what only a host with hooks can do',
      { subtype: 'hook_callback', callback_id: 'x' },
      { behavior: 'allow' },
      { subtype: 'error', error: 'Chirality does not do hook_callback.' },
    ],
    ['no question at all', {}, { behavior: 'allow' }, { subtype: 'success' }],
  ])('%s is answered, so that nothing hangs', async (_name, request, decision, answer) => {
    const { turn } = world.chat({ binary: world.fake('fake-claude-asks', JSON.stringify(request)) })
    const decide = async () => decision as { behavior: 'allow' }
    const events = await turn('hello', { decide })
    const [said] = ofType(events, 'chat:complete')
    expect(JSON.parse(said?.text ?? '[]')).toMatchObject([answer])
    expect(events.at(-1)).toMatchObject({ type: 'turn:end', reason: 'completed' })
  })
})

function restarts(events: Parameters<typeof ofType>[0]): string[] {
  return ofType(events, 'status')
    .filter(({ data }) => data?.kind === 'restarted')
    .map(({ message }) => message)
}

/** Collects what is told between turns. */
function listener() {
  const told: UIEvent[] = []
  let wake = () => {}
  const onBetweenTurns = (events: UIEvent[]) => {
    told.push(...events)
    wake()
  }
  const until = async (type: UIEvent['type']): Promise<UIEvent> => {
    for (;;) {
      const found = told.find(event => event.type === type)
      if (found) return found
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  return { told, onBetweenTurns, until }
}

/** Whoever asks without a pause takes the processor from what it waits for. */
const POLL_MS = 5
