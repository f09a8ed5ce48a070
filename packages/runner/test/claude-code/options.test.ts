import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { HarnessTurnOpts, UIEvent } from '@chirality/core'
import { claudeVersions } from '@chirality/fixtures'
import type { ScriptedModel } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { PIXEL_PNG } from '../support/images.ts'
import { bodies, collect, expectOneEnd, lastBody, ofType, systemText } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** Words of the system prompt that both releases bring along. */
const OWN_PROMPT = '# Harness'
/** Far more than a command line can carry. */
const LONG_PROMPT = `begin ${'0123456789'.repeat(30_000)} end`

describe.each(claudeVersions())('what Claude Code $version makes of an option', ({ path: binary }) => {
  async function turn(opts: HarnessTurnOpts, answers: Parameters<typeof world.model>[0]['answers'] = []) {
    const model = await world.model({ answers, otherwise: 'Done.' })
    const harness = world.harness(binary, { model })
    return { model, events: await collect(harness.startTurn(world.session(), 'Do it', opts)) }
  }

  const toolNames = (model: ScriptedModel) => lastBody(model).tools?.map(({ name }) => name) ?? []
  const init = (events: UIEvent[]) => ofType(events, 'session:init')[0]

  test('model, thinking, added prompt, extra folder, tools and images reach the model', async () => {
    const extra = path.join(world.root, 'extra')
    mkdirSync(extra)
    const picture = path.join(world.root, 'pixel.png')
    writeFileSync(picture, Buffer.from(PIXEL_PNG, 'base64'))
    const { model, events } = await turn({
      model: 'claude-opus-5-5',
      fallbackModel: 'sonnet',
      thinking: 'low',
      systemPromptAppend: LONG_PROMPT,
      additionalDirectories: [extra],
      tools: 'Read,Bash',
      verbose: false,
      images: [
        { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: PIXEL_PNG } },
        { type: 'image', source: { kind: 'path', mediaType: 'image/png', path: picture } },
      ],
    })

    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(events[0]).toMatchObject({ type: 'turn:start', message: 'Do it', attachments: 2 })
    expect(init(events)).toMatchObject({ model: 'claude-opus-5-5', tools: ['Bash', 'Read'] })
    const body = lastBody(model)
    expect(body.model).toBe('claude-opus-5-5')
    expect(body.output_config?.effort).toBe('low')
    expect(systemText(body)).toContain(LONG_PROMPT)
    expect(systemText(body)).toContain(OWN_PROMPT)
    expect(systemText(body)).toContain(extra)
    expect(toolNames(model)).toEqual(expect.arrayContaining(['Bash', 'Read']))
    expect(toolNames(model)).not.toContain('Edit')
    const images = JSON.stringify(body.messages).match(/"type":"image"/g) ?? []
    expect(images).toHaveLength(2)
    expect(JSON.stringify(body.messages)).toContain('Do it')
  })

  test.each(['xhigh', 'max'] as const)(
    'the effort %s, as the agent itself names it, reaches the model',
    async thinking => {
      const { model } = await turn({ model: 'claude-opus-5-5', thinking })
      expect(lastBody(model).output_config?.effort).toBe(thinking)
    },
  )

  test('ultracode is offered where the agent says that it has it, and refused elsewhere', async () => {
    const harness = world.harness(binary)
    const offered = (await harness.discoverModels?.(world.session().projectRoot)) ?? []
    const opus = offered.find(({ id }) => id === 'opus')
    const model = await world.model({ otherwise: 'Done.' })
    const opts = { model: 'claude-opus-5-5', thinking: 'ultracode' as const }
    const begun = collect(world.harness(binary, { model }).startTurn(world.session(), 'Do it', opts))
    if (!opus?.efforts?.includes('ultracode'))
      return expect(begun).rejects.toMatchObject({
        code: 'unsupported',
        message: expect.stringContaining('has no effort ultracode. Update it with'),
      })
    await begun
    expect(lastBody(model).output_config?.effort).toBe('xhigh')
    expect(JSON.stringify(lastBody(model).messages)).toMatch(/Ultracode is on: [a-z]/)
  })

  test('an older model gets the thinking budget as a number', async () => {
    const { model } = await turn({ model: 'claude-sonnet-4-5', thinking: 'med' })
    expect(lastBody(model)).toMatchObject({
      model: 'claude-sonnet-4-5',
      thinking: { type: 'enabled', budget_tokens: 5000 },
    })
  })

  test.each(['sonnet', 'default'])(
    'the alias %s never reaches the API, not even for a sub-agent',
    async alias => {
      const model = await world.model({
        routes: [{ when: { subAgent: true }, answers: [], otherwise: 'Sub-agent done.' }],
        answers: [
          { tool: 'Agent', input: { description: 'work', prompt: 'Work', subagent_type: 'general-purpose' } },
        ],
        otherwise: 'Done.',
      })
      const harness = world.harness(binary, { model })
      const opts = { model: alias, autoApproveTools: ['Agent', 'Task'] }
      const events = await collect(harness.startTurn(world.session(), 'Delegate', opts))
      expectOneEnd(events)
      const served = bodies(model).map(body => body.model)
      expect(model.requests.some(request => request.served === 'routes[0].otherwise')).toBe(true)
      expect(served.filter(name => !/^claude-[a-z]+-\d/.test(name))).toEqual([])
      expect(new Set(served).size).toBe(1)
    },
  )

  test('a system prompt replaces the own one of Claude Code; both kinds go together', async () => {
    const model = await world.model({ answers: ['Done.'] })
    const query = world.query({ systemPrompt: 'You are a teapot.', appendSystemPrompt: 'Short and stout.' })
    await collect(world.harness(binary, { model }).query(query))
    const system = JSON.stringify(lastBody(model).system)
    expect(system).toContain('You are a teapot.')
    expect(system).toContain('Short and stout.')
    expect(system).not.toContain(OWN_PROMPT)
  })

  test('no tools at all', async () => {
    const { model, events } = await turn({ tools: '' })
    expect(init(events)?.tools).toEqual([])
    expect(toolNames(model)).toEqual([])
  })

  test('tools that are taken away are gone for the model', async () => {
    const { model, events } = await turn({ disallowedTools: ['Bash', 'Write'] })
    expect(init(events)?.tools).toContain('Read')
    for (const name of ['Bash', 'Write']) {
      expect(init(events)?.tools).not.toContain(name)
      expect(toolNames(model)).not.toContain(name)
    }
  })

  test.each([
    { permissionMode: undefined, shown: 'dontAsk', writes: false },
    { permissionMode: 'default', shown: 'default', writes: false },
    { permissionMode: 'plan', shown: 'plan', writes: false },
    { permissionMode: 'acceptEdits', shown: 'acceptEdits', writes: true },
    { permissionMode: 'bypassPermissions', shown: 'bypassPermissions', writes: true },
  ] as const)('permission mode $shown: writes $writes', async ({ permissionMode, shown, writes }) => {
    const file = path.join(world.project, 'written.txt')
    const model = await world.model({
      answers: [{ tool: 'Write', input: { file_path: file, content: 'written' } }],
      otherwise: 'Done.',
    })
    const harness = world.harness(binary, { model, environment: { IS_SANDBOX: '1' } })
    const events = await collect(harness.startTurn(world.session(), 'Write', { permissionMode }))
    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(init(events)?.permissionMode).toBe(shown)
    expect(ofType(events, 'tool:result')).toMatchObject([{ isError: !writes }])
    expect(readable(file)).toBe(writes ? 'written' : undefined)
  })

  test('a tool that is approved runs under dontAsk, another is denied and said to be', async () => {
    const { events } = await turn({ autoApproveTools: ['Bash(touch allowed*)'] }, [
      { tool: 'Bash', input: { command: 'touch allowed.txt' }, id: 'toolu_yes' },
      { tool: 'Bash', input: { command: 'touch other.txt' }, id: 'toolu_no' },
    ])
    const results = ofType(events, 'tool:result').map(({ toolUseId, isError }) => [toolUseId, isError])
    expect(results).toEqual([
      ['toolu_yes', false],
      ['toolu_no', true],
    ])
    const denied = events.filter(event => event.type === 'status' && event.status === 'permission_denied')
    expect(denied).toMatchObject([{ toolUseId: 'toolu_no', level: 'warn' }])
    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
  })

  test('the turn limit ends the turn as max_turns', async () => {
    const look = { tool: 'Bash', input: { command: 'echo again' } }
    const { events } = await turn({ maxTurns: 2, autoApproveTools: ['Bash'] }, [look, look, look])
    expect(expectOneEnd(events)).toEqual({ reason: 'max_turns' })
    expect(ofType(events, 'session:error')).toMatchObject([{ code: 'max_turns' }])
  })

  test('the budget ends the turn as budget, with what it cost', async () => {
    const { events } = await turn({ maxBudgetUsd: 0.0001 })
    expect(expectOneEnd(events)).toEqual({ reason: 'budget' })
    const [error] = ofType(events, 'session:error')
    expect(error?.code).toBe('budget_exceeded')
    expect(error?.costUsd).toBeGreaterThan(0.0001)
  })

  test('a JSON schema brings a structured answer', async () => {
    const outputSchema = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] }
    const { events } = await turn({ outputSchema }, [{ tool: 'StructuredOutput', input: { sum: 4 } }])
    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(ofType(events, 'chat:complete')).toMatchObject([{ structuredOutput: { sum: 4 } }])
  })

  test('without setting sources the project cannot speak to the model', async () => {
    writeFileSync(path.join(world.project, 'CLAUDE.md'), 'Marker of the project memory')
    const model = await world.model({ otherwise: 'Done.' })
    await collect(world.harness(binary, { model }).startTurn(world.session(), 'Hi'))
    expect(systemText(lastBody(model))).toContain('Marker of the project memory')
    await collect(world.harness(binary, { model, settingSources: [] }).startTurn(world.session(), 'Hi'))
    expect(bodies(model)).toHaveLength(2)
    expect(systemText(lastBody(model))).not.toContain('Marker of the project memory')
  })
})

function readable(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
