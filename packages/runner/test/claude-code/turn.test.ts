import { readFileSync } from 'node:fs'
import { createClaudeTranslator, NdjsonFramer } from '@chirality/core'
import { claudeVersions } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { collect, expectOneEnd, modelRequests, ofType, statuses } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

describe.each(claudeVersions())('a turn of Claude Code $version', ({ path, version }) => {
  test('goes from turn:start over session:init, deltas and the answer to process:exit', async () => {
    const model = await world.model({ answers: [{ text: '2 + 2 is 4.', chunkChars: 4 }] })
    const session = world.session()
    const events = await collect(
      world.harness(path, { model }).startTurn(session, 'What is 2+2?', { maxTurns: 1 }),
    )

    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(events[0]).toEqual({ type: 'turn:start', sessionId: session.id, message: 'What is 2+2?' })
    expect(events[1]).toMatchObject({
      type: 'session:init',
      version,
      cwd: world.project,
      permissionMode: 'dontAsk',
      apiKeySource: 'ANTHROPIC_API_KEY',
    })
    expect(ofType(events, 'session:init')[0]?.claudeSessionId).toMatch(/^[0-9a-f-]{36}$/)
    const deltas = ofType(events, 'chat:delta').map(event => event.text)
    expect(deltas.length).toBeGreaterThan(1)
    expect(deltas.join('')).toBe('2 + 2 is 4.')
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: '2 + 2 is 4.' }])
    const [complete] = ofType(events, 'session:complete')
    expect(complete).toMatchObject({ usage: { input_tokens: 100, output_tokens: 20 }, numTurns: 1 })
    expect(complete?.costUsd).toBeGreaterThan(0)
    expect(events.at(-1)).toMatchObject({ code: 0, signal: null })
    expect(new Set(events.map(event => event.sessionId))).toEqual(new Set([session.id]))
    expect(modelRequests(model)).toHaveLength(1)
  })

  test('shows each tool with its input and result, and never repeats or loses an event of the spool', async () => {
    const model = await world.model({
      answers: [
        { text: 'I look.', tool: 'Bash', input: { command: 'echo from-the-tool' }, id: 'toolu_1' },
        {
          blocks: [
            { tool: 'Bash', input: { command: 'echo a' }, id: 'toolu_2' },
            { tool: 'Bash', input: { command: 'echo b' }, id: 'toolu_3' },
          ],
        },
        'Done.',
      ],
    })
    const session = world.session()
    const events = await collect(
      world.harness(path, { model }).startTurn(session, 'Look', { autoApproveTools: ['Bash'] }),
    )

    expectOneEnd(events)
    expect(ofType(events, 'tool:start')).toHaveLength(3)
    const results = ofType(events, 'tool:result').map(({ toolUseId, content, isError }) => [
      toolUseId,
      { content, isError },
    ])
    // Tools that are called together end in any order.
    expect(Object.fromEntries(results)).toEqual({
      toolu_1: { content: 'from-the-tool', isError: false },
      toolu_2: { content: 'a', isError: false },
      toolu_3: { content: 'b', isError: false },
    })
    const inputs = ofType(events, 'tool:input').filter(({ input }) => input !== undefined)
    expect(inputs.map(({ toolUseId }) => toolUseId)).toEqual(['toolu_1', 'toolu_2', 'toolu_3'])
    const ownEvents = new Set(['turn:start', 'turn:end', 'process:exit'])
    expect(events.filter(({ type }) => !ownEvents.has(type))).toEqual(translateSpool(session.id))
    expect(ofType(events, 'native:unknown')).toEqual([])
    expect(statuses(events, 'cleanup')).toEqual([])
  })

  test('without partial messages there are no deltas, and the same answer', async () => {
    const model = await world.model({ answers: ['Whole.'] })
    const events = await collect(
      world.harness(path, { model }).startTurn(world.session(), 'Hi', { includePartialMessages: false }),
    )
    expectOneEnd(events)
    expect(ofType(events, 'chat:delta')).toEqual([])
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'Whole.' }])
  })

  test('a background command brings a second answer within the same turn', async () => {
    const model = await world.model({
      answers: [
        { tool: 'Bash', input: { command: 'echo later', run_in_background: true, description: 'later' } },
        'Started.',
      ],
      otherwise: 'It is done.',
    })
    const events = await collect(
      world.harness(path, { model }).startTurn(world.session(), 'Go', { autoApproveTools: ['Bash'] }),
    )
    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(ofType(events, 'session:complete').map(event => event.origin)).toEqual([
      undefined,
      'task-notification',
    ])
    expect(ofType(events, 'chat:complete').at(-1)?.text).toBe('It is done.')
  })

  function translateSpool(sessionId: string) {
    const [spool = '', ...others] = world.spools()
    expect(others).toEqual([])
    const framer = new NdjsonFramer()
    const translator = createClaudeTranslator({ sessionId })
    const records = [...framer.push(readFileSync(spool)), ...framer.end()]
    return [...records.flatMap(record => translator.translateRecord(record)), ...translator.end()]
  }
})
