import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { HarnessTurnOpts } from '@chirality/core'
import { codexArgs, type Script } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { PIXEL_PNG } from '../support/images.ts'
import { bodies, collect, expectOneEnd, lastBody, ofType, run, told, toolOutputs } from './support/events.ts'
import { useWorld, VOICES } from './support/world.ts'

const world = useWorld()

describe.each(VOICES)('what Codex makes of an option through $voice', ({ voice }) => {
  async function turn(opts: HarnessTurnOpts, answers: Script['answers'] = []) {
    const model = await world.model({ answers, otherwise: 'Done.' })
    const harness = world.harness({ model, voice })
    const events = await collect(harness.startTurn(world.session(), 'Do it', opts))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    return { model, events }
  }

  test('model, effort and added instructions reach the model', async () => {
    const { model } = await turn({
      model: 'gpt-5.5',
      thinking: 'high',
      systemPromptAppend: 'You are "Ada".\nSpeak softly. \\ € \u007f',
    })
    expect(lastBody(model)).toMatchObject({ model: 'gpt-5.5', reasoning: { effort: 'xhigh' } })
    // Through `exec` they come with the message: it takes them otherwise only where others can read them.
    const author = voice === 'exec' ? 'user' : 'developer'
    expect(JSON.stringify(lastBody(model).input.filter(({ role }) => role === author))).toContain(
      JSON.stringify('You are "Ada".\nSpeak softly. \\ € \u007f').slice(1, -1),
    )
    // Added to Codex's own prompt, not put in its place.
    expect(told(model)).toContain('Codex')
  })

  test.each([
    ['low', 'low'],
    ['med', 'medium'],
  ] as const)('effort %s is %s', async (thinking, effort) => {
    const { model } = await turn({ model: 'gpt-5.5', thinking })
    expect(lastBody(model).reasoning?.effort).toBe(effort)
  })

  test('the effort ultracode, which Codex lacks, is refused', async () => {
    await expect(turn({ thinking: 'ultracode' })).rejects.toMatchObject({ code: 'unsupported' })
  })

  test('a later turn may take another model and effort', async () => {
    const model = await world.model({ otherwise: 'Done.' })
    const harness = world.harness({ model, voice })
    const session = world.session()
    const first = await collect(harness.startTurn(session, 'One', { model: 'gpt-5.5', thinking: 'low' }))
    session.claudeSessionId = ofType(first, 'session:init')[0]?.claudeSessionId ?? null
    const next = { model: 'gpt-6-luna', thinking: 'high' } as const
    const second = await collect(harness.startTurn(session, 'Two', next))
    expect(ofType(second, 'session:init')).toMatchObject([{ model: 'gpt-6-luna' }])
    expect(lastBody(model)).toMatchObject({ model: 'gpt-6-luna', reasoning: { effort: 'xhigh' } })
  })

  test('images reach the model, and their files are gone afterwards', async () => {
    const picture = path.join(world.root, 'pixel.png')
    writeFileSync(picture, Buffer.from(PIXEL_PNG, 'base64'))
    const { model, events } = await turn({
      images: [
        { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: PIXEL_PNG } },
        { type: 'text', text: 'and the other' },
        { type: 'image', source: { kind: 'path', mediaType: 'image/png', path: picture } },
      ],
    })
    expect(events[0]).toMatchObject({ type: 'turn:start', attachments: 2 })
    expect(told(model).match(/"type":"input_image"/g)).toHaveLength(2)
    expect(told(model)).toContain('data:image/png;base64,')
    expect(told(model)).toContain('and the other')
    expect(existsSync(picture)).toBe(true)
  })

  test('an image alone is a message too', async () => {
    const model = await world.model({ answers: ['A pixel.'] })
    const source = { kind: 'base64', mediaType: 'image/png', data: PIXEL_PNG } as const
    const opts: HarnessTurnOpts = { images: [{ type: 'image', source }] }
    const events = await collect(world.harness({ model, voice }).startTurn(world.session(), '', opts))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(told(model)).toContain('input_image')
  })

  test('an image that is not there is refused before anything starts', async () => {
    const source = { kind: 'path', mediaType: 'image/png', path: path.join(world.root, 'no.png') } as const
    const opts: HarnessTurnOpts = { images: [{ type: 'image', source }] }
    const events = world.harness({ voice }).startTurn(world.session(), 'Look', opts)
    await expect(events.next()).rejects.toMatchObject({ code: 'invalid_query' })
    expect(world.spools()).toEqual([])
  })

  test('a JSON schema brings a structured answer', async () => {
    const outputSchema = {
      type: 'object',
      properties: { sum: { type: 'number' } },
      required: ['sum'],
      additionalProperties: false,
    }
    const { model, events } = await turn({ outputSchema }, ['{"sum":4}'])
    expect(lastBody(model).text?.format).toMatchObject({ type: 'json_schema', schema: outputSchema })
    expect(ofType(events, 'chat:complete')).toMatchObject([{ structuredOutput: { sum: 4 } }])
  })

  test("the agent's commands see neither keys nor the server's secrets, but what they need", async () => {
    const model = await world.model({ answers: [run('env')], otherwise: 'Done.' })
    const secrets = {
      CODEX_API_KEY: 'secret-1',
      OPENAI_API_KEY: 'secret-2',
      ANTHROPIC_API_KEY: 'secret-3',
      CHIRALITY_TOKEN: 'secret-4',
      GITHUB_TOKEN: 'secret-5',
      DATABASE_URL: 'secret-6',
      MY_SERVICE_SECRET: 'secret-7',
    }
    const environment = { ...secrets, LANG: 'C.UTF-8' }
    const harness = world.harness({ model, voice, environment })
    const opts: HarnessTurnOpts = {
      permissionMode: 'bypassPermissions',
      env: { MY_SETTING: 'given' },
      mcpServers: {
        web: {
          type: 'http',
          url: 'http://127.0.0.1:9/mcp',
          headers: { Authorization: 'Bearer secret-8', 'X-Plain': 'secret-9' },
        },
        tool: { type: 'stdio', command: 'true', env: { TOOL_API_KEY: 'secret-10' } },
      },
    }
    await collect(harness.startTurn(world.session(), 'Look', opts))
    const seen = toolOutputs(model)
    expect(seen).not.toMatch(/secret-\d/)
    expect(seen).not.toContain('sk-scripted-model')
    expect(seen).toContain('MY_SETTING=given')
    expect(seen).toContain('LANG=C.UTF-8')
  })

  test("the environment of a query reaches the agent's commands", async () => {
    const { model } = await turn({ env: { FROM_QUERY: 'yes it does' } }, [run('echo "[$FROM_QUERY]"')])
    expect(toolOutputs(model)).toContain('[yes it does]')
  })

  const TRUST_MODES = ['dontAsk', 'acceptEdits', 'default', 'bypassPermissions'] as const

  test.each(TRUST_MODES)("%s in a git project leaves the user's config as it was", async permissionMode => {
    mkdirSync(path.join(world.project, '.git'))
    writeFileSync(path.join(world.project, '.git', 'HEAD'), 'ref: refs/heads/main\n')
    const folder = path.join(world.project, 'packages', 'one')
    mkdirSync(folder, { recursive: true })
    mkdirSync(world.codexHome, { recursive: true })
    const config = path.join(world.codexHome, 'config.toml')
    const before = '# my own\n[projects."/somewhere/else"]\ntrust_level = "trusted"\n'
    writeFileSync(config, before)
    const model = await world.model({ otherwise: 'Done.' })
    const harness = world.harness({ model, voice })
    for (const projectRoot of [world.project, folder]) {
      const session = world.session({ projectRoot })
      const first = await collect(harness.startTurn(session, 'One', { permissionMode }))
      session.claudeSessionId = ofType(first, 'session:init')[0]?.claudeSessionId ?? null
      await collect(harness.startTurn(session, 'Two', { permissionMode }))
      await collect(harness.startTurn(session, 'Three', { permissionMode, forkSession: true }))
    }
    expect(bodies(model)).toHaveLength(6)
    expect(readFileSync(config, 'utf8')).toBe(before)
  })

  test.each([
    ['tools', { tools: 'Read' }],
    ['tools', { tools: '' }],
    ['allowedTools', { autoApproveTools: ['Bash'] }],
    ['disallowedTools', { disallowedTools: ['Bash'] }],
    ['maxTurns', { maxTurns: 3 }],
    ['maxBudgetUsd', { maxBudgetUsd: 1 }],
    ['fallbackModel', { fallbackModel: 'gpt-5.5' }],
  ] satisfies [string, HarnessTurnOpts][])('%s is refused, not dropped', async (field, opts) => {
    const events = world.harness({ voice }).startTurn(world.session(), 'Hi', opts)
    await expect(events.next()).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(new RegExp(`^${field}: `)),
    })
    expect(world.spools()).toEqual([])
  })

  test('an option with its default value is not refused', async () => {
    await turn({ tools: 'default', disallowedTools: [], autoApproveTools: [] })
  })
})

test('without our care Codex marks a project as trusted, so the tests above can fail', async () => {
  mkdirSync(path.join(world.project, '.git'))
  writeFileSync(path.join(world.project, '.git', 'HEAD'), 'ref: refs/heads/main\n')
  const model = await world.model({ otherwise: 'Done.' })
  const harness = world.harness({ model, voice: 'exec' })
  await collect(harness.startTurn(world.session(), 'Hi', { permissionMode: 'acceptEdits' }))
  const config = path.join(world.codexHome, 'config.toml')
  expect(existsSync(config)).toBe(false)

  const spawned = world.logs.find(({ event }) => event === 'process:spawn')
  const { command, args } = { ...spawned?.data } as { command: string; args: string[] }
  const isCare = (arg: string | undefined) => arg?.startsWith('projects=') === true
  const careless = args.filter((arg, index) => !isCare(arg) && !isCare(args[index + 1]))
  const env = { HOME: world.home, CODEX_HOME: world.codexHome, ...codexArgs(model).env }
  await new Promise(resolve => {
    execFile(command, careless, { env, cwd: world.project }, resolve).stdin?.end('Hi')
  })
  expect(readFileSync(config, 'utf8')).toContain('trusted')
})
