import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { HarnessQuery, HarnessTurnOpts } from '@chirality/core'
import { claudeBinaries } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { collect, ofType } from './support/events.ts'
import { type HarnessOptions, useWorld } from './support/world.ts'

const world = useWorld()

interface Seen {
  args: string[]
  env: Record<string, string>
  stdin: string
  files: Record<string, { path: string; mode: string; uid: number; text: string }>
}

/** How the CLI was called, as it saw it itself. */
const seen = () => JSON.parse(readFileSync(path.join(world.project, 'seen.json'), 'utf8')) as Seen
const harness = (options?: HarnessOptions) => world.harness(world.fake('fake-claude-record'), options)

async function turn(opts: HarnessTurnOpts, options?: HarnessOptions): Promise<Seen> {
  await collect(harness(options).startTurn(world.session(), 'The prompt itself', opts))
  return seen()
}

async function query(fields: Partial<HarnessQuery>): Promise<Seen> {
  await collect(harness().query(world.query(fields)))
  return seen()
}

describe('the command line', () => {
  test('of a turn without options has the defaults of the specification', async () => {
    const { args, stdin } = await turn({})
    expect(args).toEqual([
      '-p',
      '--output-format',
      'stream-json',
      '--verbose',
      '--include-partial-messages',
      '--setting-sources',
      'user',
      '--max-turns',
      '25',
      '--permission-mode',
      'dontAsk',
      '--add-dir',
      world.project,
    ])
    expect(stdin).toBe('The prompt itself')
  })

  test('has no limit of rounds where none is wanted', async () => {
    expect((await turn({ maxTurns: null })).args).not.toContain('--max-turns')
  })

  test('has every option of a turn', async () => {
    const { args } = await turn({
      permissionMode: 'acceptEdits',
      tools: 'Read,Bash',
      disallowedTools: ['Write', 'Edit'],
      autoApproveTools: ['Bash(git *)', 'Read'],
      maxTurns: 7,
      verbose: false,
      includePartialMessages: false,
    })
    const line = args.join(' ')
    expect(line).toContain('--permission-mode acceptEdits --tools Read,Bash')
    expect(line).toContain('--allowedTools Bash(git *) Read --disallowedTools Write Edit')
    expect(line).toContain('--max-turns 7')
    expect(args).not.toContain('--include-partial-messages')
    // The stream format cannot do without it.
    expect(args).toContain('--verbose')
  })

  test('prefers the overrides of a turn', async () => {
    const { args } = await turn({
      tools: 'Read',
      toolsOverride: 'Bash',
      disallowedTools: ['Write'],
      disallowedToolsOverride: ['Edit'],
      autoApproveTools: ['Read'],
      autoApproveToolsOverride: ['Bash'],
    })
    expect(args.join(' ')).toContain('--tools Bash --allowedTools Bash --disallowedTools Edit')
  })

  test('keeps system prompts and MCP secrets in owner-only files that are gone afterwards', async () => {
    const { args, files } = await query({
      systemPrompt: 'System prompt text',
      appendSystemPrompt: 'Appended prompt text',
      mcpServers: {
        local: { type: 'stdio', command: 'server', args: ['--x'], env: { TOKEN: 'stdio-secret' } },
        remote: { type: 'http', url: 'http://127.0.0.1:1/mcp', headers: { Authorization: 'http-secret' } },
      },
    })
    const mcp = files['--mcp-config']
    expect(files['--system-prompt-file']?.text).toBe('System prompt text')
    expect(files['--append-system-prompt-file']?.text).toBe('Appended prompt text')
    expect(JSON.parse(mcp?.text ?? '')).toMatchObject({
      mcpServers: {
        local: { command: 'server', args: ['--x'], env: { TOKEN: 'stdio-secret' } },
        remote: { type: 'http', url: 'http://127.0.0.1:1/mcp', headers: { Authorization: 'http-secret' } },
      },
    })
    expect(args).toContain('--strict-mcp-config')
    for (const file of Object.values(files)) {
      expect(file).toMatchObject({ mode: '600', uid: process.getuid?.() })
      expect(file.path.startsWith(`${world.temporary}/chirality-`)).toBe(true)
      expect(existsSync(path.dirname(file.path))).toBe(false)
    }
    const said = JSON.stringify([args, world.logs])
    for (const secret of ['stdio-secret', 'http-secret', 'System prompt text', 'Appended prompt text'])
      expect(said).not.toContain(secret)
  })

  test('takes no file when none is needed', async () => {
    const { args } = await query({})
    expect(args.filter(arg => arg.startsWith(world.temporary))).toEqual([])
    expect(readdirSync(world.temporary)).toEqual([])
  })

  test('is logged without the prompt or a key', async () => {
    await turn({})
    const spawned = world.logs.find(({ event }) => event === 'process:spawn')
    expect(spawned).toMatchObject({
      level: 'info',
      data: { pid: expect.any(Number), cwd: world.project, spool: world.spools()[0] },
    })
    expect(world.logs.at(-1)).toMatchObject({ event: 'process:exit', data: { code: 0, signal: null } })
    const logged = JSON.stringify(world.logs)
    expect(logged).not.toContain('sk-scripted-model')
    expect(logged).not.toContain('The prompt itself')
  })
})

describe('the environment of the agent', () => {
  const SECRETS = {
    TEST_SECRET_PASSWORD: 'foo',
    OPENAI_API_KEY: 'sk-other',
    GITHUB_TOKEN: 't',
    MY_APP_NAME: 'mine',
  }

  test('is an allow-list, with the key that Claude Code needs', async () => {
    const { env } = await turn({}, { environment: SECRETS })
    expect(env).toMatchObject({
      ANTHROPIC_API_KEY: 'sk-scripted-model',
      HOME: world.home,
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
    })
    for (const name of Object.keys(SECRETS)) expect(env).not.toHaveProperty(name)
  })

  test('has what was asked for by name', async () => {
    const options = { environment: SECRETS, allowEnvironment: ['GITHUB_TOKEN'] }
    const { env } = await turn({ env: { OF_THE_TURN: 'yes' }, model: 'claude-opus-5-5' }, options)
    expect(env).toMatchObject({
      GITHUB_TOKEN: 't',
      OF_THE_TURN: 'yes',
      CLAUDE_CODE_SUBAGENT_MODEL: 'claude-opus-5-5',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: 'claude-opus-5-5',
    })
  })

  test('can be left without our additions', async () => {
    const environment = { DISABLE_TELEMETRY: undefined, DISABLE_ERROR_REPORTING: undefined }
    const options = { environment, disableTelemetry: false, forceSubagentModel: false }
    const { env } = await turn({ model: 'claude-opus-5-5' }, options)
    expect(Object.keys(env).filter(name => /TELEMETRY|REPORTING|_MODEL$/.test(name))).toEqual([])
  })

  test.each(claudeBinaries())(
    'reaches the tools of Claude Code $version without a secret',
    async ({ path: binary }) => {
      const model = await world.model({ answers: [{ tool: 'Bash', input: { command: 'env' } }, 'Done.'] })
      const real = world.harness(binary, { model, environment: SECRETS })
      const events = await collect(
        real.startTurn(world.session(), 'Look', { autoApproveTools: ['Bash'], env: { OF_THE_TURN: 'yes' } }),
      )
      const printed = ofType(events, 'tool:result')[0]?.content ?? ''
      expect(printed).toContain('OF_THE_TURN=yes')
      expect(printed).toContain(`HOME=${world.home}`)
      for (const name of Object.keys(SECRETS)) expect(printed).not.toContain(name)
    },
  )
})
