import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ClaudeEvent, HarnessEvent, HarnessQuery } from '@chirality/core'
import { claudeVersions } from '@chirality/fixtures'
import type { Script } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { collect, collectAnd } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

describe.each(claudeVersions())('a query of Claude Code $version', ({ path: binary, version }) => {
  async function query(script: Script, fields: Partial<HarnessQuery> = {}) {
    const model = await world.model(script)
    const events = await collect(world.harness(binary, { model }).query(world.query(fields)))
    return { model, events, messages: messagesOf(events) }
  }

  test('a simple query has an init event, an assistant message, and completes with usage and cost', async () => {
    const { events, messages } = await query({ answers: ['Hello.'] })
    const [init] = messages
    expect(init).toMatchObject({
      type: 'system',
      subtype: 'init',
      claude_code_version: version,
      model: expect.stringMatching(/^claude-/),
      tools: expect.arrayContaining(['Bash', 'Read', 'Edit']),
    })
    expect(events[0]).toEqual({ type: 'session_started', sessionId: init?.session_id })
    expect(messages.filter(({ type }) => type === 'assistant')).toHaveLength(1)
    const complete = events.at(-1)
    expect(complete).toMatchObject({ type: 'complete', usage: { inputTokens: 100, outputTokens: 20 } })
    const usage = complete?.type === 'complete' ? complete.usage : undefined
    expect(usage?.costUsd).toBeGreaterThan(0)
    expect(usage?.durationMs).toBeGreaterThan(0)
  })

  test('read-only mode lets no file be written', async () => {
    const file = `${world.project}/new.txt`
    const { events, messages } = await query({
      answers: [{ tool: 'Write', input: { file_path: file, content: 'x' } }],
      otherwise: 'I only planned.',
    })
    expect(messages[0]).toMatchObject({ permissionMode: 'plan' })
    const results = messages.filter(({ type }) => type === 'user')
    expect(JSON.stringify(results)).toContain('"is_error":true')
    expect(existsSync(file)).toBe(false)
    expect(events.at(-1)?.type).toBe('complete')
  })

  test('a query that resumes keeps the session id', async () => {
    const model = await world.model({ answers: ['One.', 'Two.'] })
    const harness = world.harness(binary, { model })
    const first = await collect(harness.query(world.query()))
    const sessionId = startedId(first)
    const second = await collect(harness.query(world.query({ prompt: 'And?', resumeSessionId: sessionId })))
    expect(startedId(second)).toBe(sessionId)
    expect(second.at(-1)?.type).toBe('complete')
  })

  test('a query that resumes an unknown session says so', async () => {
    const { events } = await query({}, { resumeSessionId: '00000000-0000-4000-8000-000000000000' })
    const errors = events.filter(({ type }) => type === 'error')
    expect(errors).toMatchObject([{ code: 'session_not_found' }])
  })

  test('an abort before the start yields nothing and starts nothing', async () => {
    const { events, model } = await query({}, { signal: AbortSignal.abort() })
    expect(events).toEqual([])
    expect(model.requests).toEqual([])
    expect(world.spools()).toEqual([])
  })

  test('an abort at once returns without an error', async () => {
    const abort = new AbortController()
    const model = await world.model({ otherwise: 'Never needed.' })
    const events = world.harness(binary, { model }).query(world.query({ signal: abort.signal }))
    const first = events.next()
    abort.abort()
    const result = await first
    const all = result.done ? [] : [result.value, ...(await collect(events))]
    expect(all.filter(({ type }) => type === 'error' || type === 'complete')).toEqual([])
  })

  test('an abort in the middle of the text keeps the text and returns without an error', async () => {
    const abort = new AbortController()
    const model = await world.model({ answers: [{ text: 'Cut short here.', chunkChars: 3, stallAfter: 2 }] })
    const events = world.harness(binary, { model }).query(world.query({ signal: abort.signal }))
    const isText = (event: HarnessEvent<ClaudeEvent>) =>
      event.type === 'message' &&
      event.message.type === 'stream_event' &&
      /text_delta/.test(JSON.stringify(event))
    const all = await collectAnd(events, isText, () => abort.abort())
    expect(all.filter(({ type }) => type === 'error' || type === 'complete')).toEqual([])
    // The agent's own account of the interrupt is still there.
    expect(messagesOf(all).at(-1)).toMatchObject({ type: 'result', is_error: true })
  })

  test('leaving the loop stops the agent', async () => {
    const model = await world.model({ answers: [{ text: 'Long.', stallAfter: 0 }] })
    for await (const event of world.harness(binary, { model }).query(world.query())) {
      if (event.type === 'session_started') break
    }
  })

  test('an MCP server is started from the config, and its tool is there and works', async () => {
    const server = fileURLToPath(new URL('../programs/mcp-echo.mjs', import.meta.url))
    const { messages, events } = await query(
      {
        answers: [{ tool: 'mcp__echo__shout', input: { text: 'hello' }, id: 'toolu_mcp' }],
        otherwise: 'Done.',
      },
      {
        allowedTools: ['mcp__echo'],
        permissionMode: 'dontAsk',
        mcpServers: {
          echo: { type: 'stdio', command: process.execPath, args: [server], env: { ECHO_SUFFIX: '!' } },
        },
        // Otherwise the newer release hides MCP tools behind a search.
        env: { ENABLE_TOOL_SEARCH: 'false' },
      },
    )
    expect(messages[0]).toMatchObject({
      tools: expect.arrayContaining(['mcp__echo__shout']),
      mcp_servers: [{ name: 'echo', status: 'connected' }],
    })
    expect(JSON.stringify(messages.filter(({ type }) => type === 'user'))).toContain('HELLO!')
    expect(events.at(-1)?.type).toBe('complete')
  })
})

function messagesOf(events: HarnessEvent<ClaudeEvent>[]) {
  return events.flatMap(event =>
    event.type === 'message' ? [event.message as ClaudeEvent & Record<string, unknown>] : [],
  )
}

function startedId(events: HarnessEvent<ClaudeEvent>[]): string {
  const started = events.find(event => event.type === 'session_started')
  return started?.type === 'session_started' ? started.sessionId : ''
}
