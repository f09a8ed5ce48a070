import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import path from 'node:path'
import type { CodexEvent, HarnessEvent, HarnessQuery } from '@chirality/core'
import type { Script } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { bodies, collect, collectAnd, lastBody, run, told, toolOutputs } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

async function query(script: Script, fields: Partial<HarnessQuery> = {}) {
  const model = await world.model(script)
  const events = await collect(world.harness({ model }).query(world.query(fields)))
  return { model, events, messages: messagesOf(events) }
}

describe('a query of Codex', () => {
  test('has the native events, in order, and completes with usage', async () => {
    const { events, messages } = await query({ answers: [{ thinking: 'Hm.', text: 'Hello.' }] })
    const [started] = events
    expect(started).toMatchObject({
      type: 'session_started',
      sessionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
    expect(messages.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['thread.started', 'turn.started', 'item.completed', 'turn.completed']),
    )
    const items = messages.filter(({ type }) => type === 'item.completed')
    expect(JSON.stringify(items)).toContain('"type":"reasoning"')
    expect(JSON.stringify(items)).toContain('"type":"agent_message"')
    expect(events.at(-1)).toMatchObject({ type: 'complete', usage: { inputTokens: 100, outputTokens: 20 } })
    const last = events.at(-1)
    expect(last?.type === 'complete' && last.usage?.durationMs).toBeGreaterThan(0)
    // Nobody knows it, and 0 would be a price.
    expect(last?.type === 'complete' && last.usage && 'costUsd' in last.usage).toBe(false)
  })

  test('has whole messages only, as its capabilities say', async () => {
    const model = await world.model({ answers: [{ text: 'One two three four.', chunkChars: 3 }] })
    const harness = world.harness({ model })
    const query = world.query({ includePartialMessages: true })
    const messages = messagesOf(await collect(harness.query(query)))
    expect(harness.capabilities()).toMatchObject({
      supportsStreamingTokens: true,
      streamsTokensInQuery: false,
    })
    const withText = messages.filter(message => /One|two|three/.test(JSON.stringify(message)))
    expect(withText).toMatchObject([
      { type: 'item.completed', item: { type: 'agent_message', text: 'One two three four.' } },
    ])
  })

  test('shows a command while it runs and when it has', async () => {
    const { messages } = await query({ answers: [run('echo hi')], otherwise: 'Done.' })
    const commands = messages.filter(message => JSON.stringify(message).includes('command_execution'))
    expect(commands.map(({ type }) => type)).toEqual(['item.started', 'item.completed'])
  })

  test.each([
    { mode: 'read-only', writes: false },
    { mode: 'workspace-write', writes: true },
    { mode: 'yolo', writes: true },
  ] as const)('$mode: writes $writes', async ({ mode, writes }) => {
    await query({ answers: [run('echo x > new.txt')], otherwise: 'Done.' }, { mode })
    expect(existsSync(path.join(world.project, 'new.txt'))).toBe(writes)
  })

  test('a system prompt takes the place of the own one of Codex', async () => {
    const model = await world.model({ answers: ['Hi.', 'Still.'] })
    const harness = world.harness({ model })
    const first = await collect(
      harness.query(world.query({ systemPrompt: 'You are a teapot.', model: 'gpt-5.5' })),
    )
    // The file that it was in is gone by the time of the second.
    await collect(harness.query(world.query({ resumeSessionId: startedId(first), model: 'gpt-5.5' })))
    expect(bodies(model)).toHaveLength(2)
    for (const body of bodies(model).map(body => JSON.stringify(body))) {
      expect(body).toContain('You are a teapot.')
      expect(body).not.toContain('You are Codex')
    }
  })

  test('has no instructions in its command line, however long they are', async () => {
    const model = await world.model({ answers: ['Hi.'] })
    const long = 'x'.repeat(256 * 1024)
    const fields = { systemPrompt: `SECRET SYSTEM ${long}`, appendSystemPrompt: `SECRET PERSONA ${long}` }
    const tempDir = path.join(world.home, 'own-temporary-folder')
    mkdirSync(tempDir)
    await collect(world.harness({ model, tempDir }).query(world.query(fields)))
    expect(JSON.stringify(lastBody(model))).toMatch(/SECRET SYSTEM.*SECRET PERSONA/)
    const spawned = world.logs.filter(({ event }) => event === 'process:spawn')
    expect(spawned).toHaveLength(1)
    expect(JSON.stringify(spawned)).toMatch(/own-temporary-folder\/chirality-[^/]+\/system-prompt\.md/)
    expect(readdirSync(tempDir).filter(name => name.startsWith('chirality-'))).toEqual([])
    expect(JSON.stringify(spawned)).not.toContain('SECRET')
  })

  test('resumes and forks, and is charged only for itself', async () => {
    const model = await world.model({ answers: ['One.', 'Two.', 'Three.'] })
    const harness = world.harness({ model })
    const first = await collect(harness.query(world.query()))
    const resumeSessionId = startedId(first)
    const second = await collect(harness.query(world.query({ prompt: 'And?', resumeSessionId })))
    const fork = await collect(harness.query(world.query({ resumeSessionId, forkSession: true })))
    expect(startedId(second)).toBe(resumeSessionId)
    expect(startedId(fork)).not.toBe(resumeSessionId)
    expect(told(model)).toContain('And?')
    for (const events of [first, second, fork])
      expect(events.at(-1)).toMatchObject({ type: 'complete', usage: { inputTokens: 100, outputTokens: 20 } })
  })

  test('that resumes an unknown thread says so', async () => {
    const { events } = await query({}, { resumeSessionId: '00000000-0000-4000-8000-000000000000' })
    expect(events.filter(({ type }) => type === 'error')).toMatchObject([{ code: 'session_not_found' }])
  })

  test('of a thread that another process holds says what to do', async () => {
    const model = await world.model({ answers: ['Mine.'] })
    const harness = world.harness({ model })
    const turn = await collect(harness.startTurn(world.session(), 'Hold it'))
    const init = turn.find(event => event.type === 'session:init')
    const resumeSessionId = init?.type === 'session:init' ? (init.claudeSessionId ?? '') : ''
    const events = await collect(harness.query(world.query({ resumeSessionId })))
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      code: 'busy',
      error: expect.stringContaining('fork it'),
    })
  })

  test.each([
    ['continueLast', { continueLast: true }, 'unsupported'],
    ['maxTurns', { maxTurns: 1 }, 'unsupported'],
    ['a name', { resumeSessionId: 'my-thread' }, 'invalid_query'],
    ['a fork of nothing', { forkSession: true }, 'invalid_query'],
    ['a model that is a flag', { model: '--yolo' }, 'invalid_query'],
    ['an unknown kind of image', { prompt: [bmp()] }, 'invalid_query'],
  ] as const)('%s is refused before anything starts', async (_what, fields, code) => {
    const events = world.harness().query(world.query(fields as Partial<HarnessQuery>))
    await expect(events.next()).rejects.toMatchObject({ code })
    expect(world.spools()).toEqual([])
  })

  test('runs client tools beside an MCP server', async () => {
    const program = path.resolve(import.meta.dirname, '../programs/mcp-echo.mjs')
    const { model, events } = await query(
      {
        answers: [
          { tool: 'weather', namespace: 'mcp____harness_client_tools', input: {} },
          { tool: 'shout', namespace: 'mcp__echo', input: { text: 'loud' } },
        ],
        otherwise: 'Done.',
      },
      {
        mcpServers: { echo: { type: 'stdio', command: process.execPath, args: [program] } },
        clientTools: [
          {
            name: 'weather',
            description: 'Says how it is.',
            inputSchema: { type: 'object' },
            handler: async () => ({ content: 'RAINY' }),
          },
        ],
      },
    )
    expect(events.at(-1)?.type).toBe('complete')
    expect(toolOutputs(model)).toContain('RAINY')
    expect(toolOutputs(model)).toContain('LOUD')
  })

  test('an error of the API', async () => {
    const { events } = await query({ otherwise: { error: 400 } })
    expect(events.at(-1)).toMatchObject({ type: 'error' })
    expect(events.filter(({ type }) => type === 'complete')).toEqual([])
  })

  test('an abort before the start yields nothing and starts nothing', async () => {
    const { events, model } = await query({}, { signal: AbortSignal.abort() })
    expect(events).toEqual([])
    expect(model.requests).toEqual([])
    expect(world.spools()).toEqual([])
  })

  test('an abort in the middle returns without an error, and stops the agent', async () => {
    const abort = new AbortController()
    const model = await world.model({ answers: [{ text: 'Cut short here.', stallAfter: 0 }] })
    const events = world.harness({ model }).query(world.query({ signal: abort.signal }))
    const isStarted = (event: HarnessEvent<CodexEvent>) => event.type === 'session_started'
    const all = await collectAnd(events, isStarted, async () => {
      await model.waitForRequest(({ state }) => state === 'stalled')
      abort.abort()
    })
    expect(all.filter(({ type }) => type === 'error' || type === 'complete')).toEqual([])
  })

  test('leaving the loop stops the agent', async () => {
    const model = await world.model({ answers: [{ text: 'Long.', stallAfter: 0 }] })
    const stop = { interruptGraceMs: 0 }
    for await (const event of world.harness({ model, stop }).query(world.query()))
      if (event.type === 'session_started') break
  })
})

function bmp() {
  return { type: 'image', source: { kind: 'base64', mediaType: 'image/bmp', data: '' } }
}

function messagesOf(events: HarnessEvent<CodexEvent>[]): CodexEvent[] {
  return events.flatMap(event => (event.type === 'message' ? [event.message] : []))
}

function startedId(events: HarnessEvent<CodexEvent>[]): string {
  const started = events.find(event => event.type === 'session_started')
  return started?.type === 'session_started' ? started.sessionId : ''
}
