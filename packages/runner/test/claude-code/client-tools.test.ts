import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { ClientToolDefinition } from '@chirality/core'
import { claudeVersions } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { collect, expectOneEnd, lastBody, ofType } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

describe.each(claudeVersions())('client tools of Claude Code $version', ({ path: binary }) => {
  const NAME = 'mcp____harness_client_tools__weather'

  function weather(handler: ClientToolDefinition['handler']): ClientToolDefinition {
    const inputSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    return { name: 'weather', description: 'Says how the weather is.', inputSchema, handler }
  }

  const startModel = () => world.model({ answers: [{ tool: NAME, input: { city: 'Oslo' } }, 'Done.'] })

  /** Refused once the server is gone. */
  async function isUp(url: string): Promise<boolean> {
    return fetch(url).then(
      () => true,
      () => false,
    )
  }

  test('run in a turn under dontAsk without asking, while nothing of them is in the command line', async () => {
    const model = await startModel()
    const harness = world.harness(binary, { model })
    expect(harness.capabilities().supportsClientTools).toBe(true)
    let config = ''
    const clientTools = [
      weather(async ({ city }) => {
        const args = world.logs.find(({ event }) => event === 'process:spawn')?.data?.args as string[]
        config = readFileSync(args[args.indexOf('--mcp-config') + 1] ?? '', 'utf8')
        const [token = 'none'] = config.match(/(?<=Bearer )[\w-]+/) ?? []
        return { content: `rain in ${city}, token in argv: ${args.join().includes(token)}` }
      }),
    ]
    const events = await collect(harness.startTurn(world.session(), 'How is it?', { clientTools }))
    expect(expectOneEnd(events).reason).toBe('completed')
    expect(ofType(events, 'tool:result')).toMatchObject([
      { isError: false, content: expect.stringContaining('rain in Oslo, token in argv: false') },
    ])
    expect(JSON.stringify(lastBody(model).messages)).toContain('rain in Oslo')
    const { url, headers } = JSON.parse(config).mcpServers.__harness_client_tools
    expect(headers.Authorization).toMatch(/^Bearer [\w-]{43}$/)
    expect(await isUp(url)).toBe(false)
  })

  test('run in a query, beside an MCP server of its own, and a failure is one of the tool alone', async () => {
    const program = path.resolve(import.meta.dirname, '../programs/mcp-echo.mjs')
    const model = await world.model({
      answers: [
        { tool: NAME, input: { city: 'Oslo' } },
        { tool: 'mcp__echo__shout', input: { text: 'loud' } },
        'Done.',
      ],
    })
    const query = world.query({
      mode: 'workspace-write',
      allowedTools: ['mcp__echo__shout'],
      mcpServers: { echo: { type: 'stdio', command: process.execPath, args: [program] } },
      clientTools: [weather(() => Promise.reject(new Error('NO-STATION')))],
    })
    const events = await collect(world.harness(binary, { model }).query(query))
    expect(events.at(-1)?.type).toBe('complete')
    const told = JSON.stringify(lastBody(model).messages)
    expect(told).toContain('NO-STATION')
    expect(told).toContain('LOUD')
  })

  test('know when the turn was stopped', async () => {
    const model = await startModel()
    const harness = world.harness(binary, { model, stop: { interruptGraceMs: 0, termGraceMs: 0 } })
    const session = world.session()
    let told: Promise<unknown> | undefined
    const handler = (_args: unknown, context?: { signal: AbortSignal }) => {
      told = new Promise(resolve => context?.signal.addEventListener('abort', resolve))
      harness.kill(session.id)
      return new Promise<never>(() => {})
    }
    const events = await collect(
      harness.startTurn(session, 'How is it?', { clientTools: [weather(handler)] }),
    )
    expect(expectOneEnd(events).reason).not.toBe('completed')
    await told
    expect(told).toBeDefined()
  })
})
