import { existsSync } from 'node:fs'
import path from 'node:path'
import type { HarnessTurnOpts, PermissionDecision, UIEvent } from '@chirality/core'
import { claudeBinaries, claudeBinary } from '@chirality/fixtures'
import { claudeEnv, type ScriptedModel } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { type AgentSdkHarnessConfig, findAgentSdk } from '../../src/agent-sdk/config.ts'
import { AgentSdkHarness } from '../../src/agent-sdk/harness.ts'
import type { RuntimeDecision, RuntimeEvent } from '../../src/agent-sdk/runtime/runtime-event.ts'
import { MARKER_VARIABLE } from '../../src/process/system/leftovers.ts'
import { collect, collectAnd, ofType } from '../support/turns.ts'
import { useBareWorld } from '../support/world.ts'
import { fakeSdk } from './support/fake-sdk.ts'

const world = useBareWorld('agent-sdk')
const TOUCH = { tool: 'Bash', input: { command: 'touch made.txt', description: 'x' } }
const made = () => existsSync(path.join(world.project, 'made.txt'))

/** A session on a harness that is closed at the end of the test. */
function chat(model: ScriptedModel, config: AgentSdkHarnessConfig = {}) {
  const harness = new AgentSdkHarness({
    binaryPath: claudeBinary(),
    ...config,
    environment: {
      ...claudeEnv(model, world.home),
      [MARKER_VARIABLE]: world.marker,
      CLAUDE_CODE_MAX_RETRIES: '0',
    },
  })
  world.atEnd(() => harness.close())
  const session = world.session()
  const events = async function* (message: string, opts: HarnessTurnOpts = {}): AsyncGenerator<UIEvent> {
    for await (const event of harness.startTurn(session, message, opts)) {
      if (event.type === 'session:init') session.claudeSessionId = event.claudeSessionId
      yield event
    }
  }
  const turn = (message: string, opts?: HarnessTurnOpts) => collect(events(message, opts))
  return { harness, session, events, turn }
}

/** Asks about everything, and hears what it is told. */
function asking(decision: PermissionDecision): HarnessTurnOpts {
  return { permissionMode: 'default', decide: async () => decision }
}

test('the effort ultracode, as the agent offers it, reaches the model', async () => {
  const model = await world.model({ otherwise: 'Done.' })
  const { turn } = chat(model)
  await turn('Go.', { model: 'claude-opus-5-5', thinking: 'ultracode' })
  expect(model.requests.at(-1)?.body).toMatchObject({ output_config: { effort: 'xhigh' } })
  expect(JSON.stringify(model.requests.at(-1)?.body)).toMatch(/Ultracode is on: [a-z]/)
})

test('two turns in one agent, under its own name and in its own raw log', async () => {
  const model = await world.model({ answers: ['One.', 'Two.'] })
  const { turn } = chat(model)
  const pids = new Set<number>()
  const onProcess: HarnessTurnOpts['onProcess'] = ({ pid, spoolPath }) => {
    pids.add(pid)
    expect(spoolPath).toContain(path.join('logs', 'agent-sdk'))
  }
  const first = await turn('first', { onProcess })
  const second = await turn('second', { onProcess })
  expect(ofType(first, 'session:init')).toMatchObject([{ harness: 'agent-sdk' }])
  expect(ofType(second, 'chat:complete')).toMatchObject([{ text: 'Two.' }])
  expect(pids.size).toBe(1)
  expect(model.requests.at(-1)?.body).toMatchObject({ system: expect.anything() })
})

describe('decisions', () => {
  test('an allowed tool runs', async () => {
    const model = await world.model({ answers: [TOUCH, 'Done.'] })
    const events = await chat(model).turn('go', asking({ behavior: 'allow', by: 'policy', rule: 'r1' }))
    expect(ofType(events, 'permission:request')).toMatchObject([{ kind: 'tool', toolName: 'Bash' }])
    expect(ofType(events, 'permission:resolved')).toMatchObject([
      { outcome: 'allowed', by: 'policy', rule: 'r1' },
    ])
    expect(made()).toBe(true)
  })

  test('denied, it does not, and the agent is told why', async () => {
    const model = await world.model({ answers: [TOUCH, 'Well then.'] })
    const events = await chat(model).turn('go', asking({ behavior: 'deny', message: 'Not on a Monday.' }))
    expect(ofType(events, 'permission:resolved')).toMatchObject([{ outcome: 'denied', by: 'person' }])
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('Not on a Monday.')
    expect(events.at(-1)).toMatchObject({ type: 'turn:end', reason: 'completed' })
    expect(made()).toBe(false)
  })

  test('changed, what runs is what was allowed', async () => {
    const model = await world.model({ answers: [TOUCH, 'Done.'] })
    const updatedInput = { command: 'touch other.txt', description: 'x' }
    await chat(model).turn('go', asking({ behavior: 'allow', updatedInput }))
    expect(made()).toBe(false)
    expect(existsSync(path.join(world.project, 'other.txt'))).toBe(true)
  })

  test('a tool whose decision fails does not run', async () => {
    const model = await world.model({ answers: [TOUCH, 'Well then.'] })
    const decide = () => Promise.reject(new Error('no disk'))
    const events = await chat(model).turn('go', { permissionMode: 'default', decide })
    expect(ofType(events, 'permission:resolved')).toMatchObject([{ outcome: 'denied', by: 'failure' }])
    expect(made()).toBe(false)
  })
})

describe('hooks', () => {
  const READ_ONLY = { tool: 'Bash', input: { command: 'echo hi', description: 'x' } }

  async function run(decide: (event: RuntimeEvent) => RuntimeDecision | undefined) {
    const heard: RuntimeEvent[] = []
    let onEnd = () => {}
    const ended = new Promise<void>(resolve => {
      onEnd = resolve
    })
    const model = await world.model({ answers: [READ_ONLY, 'Done.'] })
    const onRuntimeEvent = (event: RuntimeEvent) => {
      heard.push(event)
      if (event.kind === 'session.end') onEnd()
      return decide(event)
    }
    const events = await chat(model, { onRuntimeEvent }).turn('go')
    await ended
    return { events, heard, model }
  }

  test('are told, also of tools that need no permission', async () => {
    const { events, heard } = await run(() => undefined)
    expect(heard.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining([
        'session.start',
        'user.prompt',
        'tool.pre',
        'tool.post',
        'stop.request',
        'session.end',
      ]),
    )
    expect(heard.find(({ kind }) => kind === 'tool.pre')).toMatchObject({ toolName: 'Bash' })
    expect(ofType(events, 'tool:result')).toMatchObject([{ content: 'hi', isError: false }])
  })

  test('block a tool, with the reason', async () => {
    const { events, model } = await run(({ kind }) =>
      kind === 'tool.pre' ? { type: 'block', reason: 'Not today.' } : undefined,
    )
    expect(ofType(events, 'tool:result')).toMatchObject([{ isError: true }])
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('Not today.')
  })

  test('a hook handler that throws blocks the tool', async () => {
    const { events } = await run(({ kind }) => {
      if (kind === 'tool.pre') throw new Error('broken')
      return undefined
    })
    expect(ofType(events, 'tool:result')).toMatchObject([{ isError: true }])
  })
})

describe('what goes wrong', () => {
  test('an SDK that throws when it is loaded ends the turn before it began, and says so', async () => {
    const model = await world.model({ answers: ['Never.'] })
    const sdkPath = fakeSdk(world.root, 'throw new Error("half installed")')
    const { turn } = chat(model, { sdkPath })
    await expect(turn('go')).rejects.toMatchObject({ message: expect.stringContaining('half installed') })
  })

  test('an SDK that dies in the middle takes its agent with it, and the turn says so', async () => {
    const model = await world.model({
      answers: [{ text: 'one two three', chunkChars: 4, stallAfter: 2 }, 'Back again.'],
    })
    // The real SDK, in a thread that is ended from inside as soon as the agent speaks.
    const real = findAgentSdk().url
    const sdkPath = fakeSdk(
      world.root,
      `
      import * as sdk from '${real}'
      export function query(request) {
        const { hooks, ...options } = request.options
        const running = sdk.query({ ...request, options })
        return (async function* () {
          for await (const message of running) {
            if (message.type === 'stream_event' && message.event.type === 'content_block_delta') process.exit(3)
            yield message
          }
        })()
      }`,
    )
    const broken = chat(model, { sdkPath })
    const events = await broken.turn('count')
    expect(ofType(events, 'session:error')).toMatchObject([
      { code: 'process_crashed', error: expect.stringContaining('code 3') },
    ])
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'crashed' }])
  })

  test('so it does when its agent is gone before it is', async () => {
    const model = await world.model({ answers: [{ text: 'one two three', chunkChars: 4, stallAfter: 2 }] })
    const real = findAgentSdk().url
    const sdkPath = fakeSdk(
      world.root,
      `
      import * as sdk from '${real}'
      export function query(request) {
        const { hooks, spawnClaudeCodeProcess: spawn, ...options } = request.options
        let agent
        const spawnClaudeCodeProcess = asked => (agent = spawn(asked))
        const running = sdk.query({ ...request, options: { ...options, spawnClaudeCodeProcess } })
        return (async function* () {
          for await (const message of running) {
            if (message.type === 'stream_event' && message.event.type === 'content_block_delta') {
              agent.prependOnceListener('exit', () => process.exit(3))
              agent.kill()
            }
            yield message
          }
        })()
      }`,
    )
    const events = await chat(model, { sdkPath }).turn('count')
    expect(ofType(events, 'session:error')).toMatchObject([
      { code: 'process_crashed', error: expect.stringContaining('code 3') },
    ])
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'crashed' }])
  })

  test('an SDK that ends before its agent takes no message and never answers: the agent is ended', async () => {
    const model = await world.model({ answers: ['Never.'] })
    const sdkPath = fakeSdk(
      world.root,
      `
      export async function* query({ options: { env, cwd, spawnClaudeCodeProcess } }) {
        spawnClaudeCodeProcess({ command: '/bin/sleep', args: ['600'], cwd, env })
      }`,
    )
    const events = await chat(model, { sdkPath }).turn('go')
    expect(ofType(events, 'session:error')).toMatchObject([
      { code: 'process_crashed', error: expect.stringContaining('The SDK ended before its agent did') },
    ])
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'crashed' }])
  })

  test('an SDK that never starts its agent is given up, and says so', async () => {
    const model = await world.model({ answers: ['Never.'] })
    const sdkPath = fakeSdk(
      world.root,
      'export function query() { return (async function* () { await new Promise(() => {}) })() }',
    )
    const { turn } = chat(model, { sdkPath, startLimitMs: 50 })
    await expect(turn('go')).rejects.toMatchObject({
      message: expect.stringContaining('did not start its agent'),
    })
  })

  test('a kill ends agent and thread', async () => {
    const model = await world.model({ answers: [{ text: 'one two three', chunkChars: 4, stallAfter: 2 }] })
    const { harness, session, events } = chat(model)
    const all = await collectAnd(
      events('count'),
      ({ type }) => type === 'chat:delta',
      () => harness.kill(session.id),
    )
    expect(ofType(all, 'turn:end')).toMatchObject([{ reason: 'killed' }])
  })
})

/** The SDK that is installed, as it was before 0.3.199: it does not say which request it asks for. */
const NAMELESS = `
  import * as sdk from ${JSON.stringify(findAgentSdk().url)}
  export function query({ prompt, options: { canUseTool, ...options } }) {
    const nameless = (tool, input, { requestId, ...context }) => canUseTool(tool, input, context)
    return sdk.query({ prompt, options: { ...options, canUseTool: nameless } })
  }`

test.each([
  ['allow', true],
  ['deny', false],
] as const)('%s reaches the agent of an SDK that names no request', async (behavior, isMade) => {
  const model = await world.model({ answers: [TOUCH, 'Done.'] })
  const { turn } = chat(model, { sdkPath: fakeSdk(world.root, NAMELESS) })
  const events = await turn('go', asking({ behavior, message: 'Not on a Monday.' }))
  expect(ofType(events, 'permission:resolved')).toHaveLength(1)
  expect(made()).toBe(isMade)
  const told = JSON.stringify(model.requests.at(-1)?.body)
  expect([told.includes('Not on a Monday.'), told.includes('too old')]).toEqual([!isMade, false])
})

test('a query whose agent asks is answered with no, and ends', async () => {
  const model = await world.model({ answers: [TOUCH, 'Well then.'] })
  const query = world.query({ prompt: 'go', mode: 'workspace-write', permissionMode: 'default' })
  const events = await collect(chat(model).harness.query(query))
  expect(events.find(({ type }) => type !== 'stderr')).toMatchObject({ type: 'session_started' })
  expect(events.at(-1)).toMatchObject({ type: 'complete' })
  expect(made()).toBe(false)
})

test('a run goes through the SDK, and its hooks can block', async () => {
  const model = await world.model({ answers: [TOUCH, 'Well then.'] })
  const heard: string[] = []
  const onRuntimeEvent = ({ kind }: RuntimeEvent): RuntimeDecision | undefined => {
    heard.push(kind)
    return kind === 'tool.pre' ? { type: 'block', reason: 'Not today.' } : undefined
  }
  const { harness } = chat(model, { onRuntimeEvent })
  const request = { cwd: world.project, prompt: 'go', env: { IS_SANDBOX: '1' } }
  const answer = await harness.run({ ...request, permissionMode: 'bypassPermissions' })
  expect(heard).toContain('tool.pre')
  expect(made()).toBe(false)
  expect(answer.rawEventsPath).toContain(path.join('logs', 'agent-sdk'))
  await expect(harness.run({ ...request, extraArgs: ['--x'] })).rejects.toMatchObject({ code: 'unsupported' })
})

test('an invalid query is refused with an error that names this harness', async () => {
  const model = await world.model({})
  const { harness } = chat(model)
  const wrong = [{ prompt: ' ' }, { cwd: '/no/such/folder' }, { forkSession: true }, { maxTurns: 0 }]
  for (const fields of wrong)
    await expect(collect(harness.query(world.query(fields)))).rejects.toMatchObject({
      harnessId: 'agent-sdk',
    })
  const missing = new AgentSdkHarness({ binaryPath: '/no/claude', environment: {} })
  await expect(collect(missing.query(world.query()))).rejects.toMatchObject({
    harnessId: 'agent-sdk',
    instructions: expect.stringContaining('npm install @anthropic-ai/claude-agent-sdk'),
  })
})

test('a query yields native events, and leaves no agent', async () => {
  const model = await world.model({ answers: ['Hello.'] })
  const events = await collect(chat(model).harness.query(world.query({ prompt: 'hi' })))
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['session_started', 'message', 'complete']),
  )
  expect(events.at(-1)).toMatchObject({ type: 'complete' })
})

describe('status', () => {
  test('an installed SDK is reported with its version', async () => {
    const model = await world.model({ answers: [] })
    expect(await chat(model).harness.checkInstallStatus()).toMatchObject({
      installed: true,
      version: expect.stringMatching(/^0\.3\./),
    })
  })

  test('of one that is not: how to install it', async () => {
    const model = await world.model({ answers: [] })
    const { harness, turn } = chat(model, { sdkPath: path.join(world.root, 'nothing') })
    expect(await harness.checkInstallStatus()).toMatchObject({
      installed: false,
      authInstructions: expect.stringContaining('npm install @anthropic-ai/claude-agent-sdk'),
    })
    await expect(turn('go')).rejects.toMatchObject({ code: 'not_installed' })
  })
})

test('an older agent completes a turn', async () => {
  const [older] = claudeBinaries()
  const model = await world.model({ answers: [TOUCH, 'Done.'] })
  const { turn } = chat(model, { binaryPath: older?.path, onRuntimeEvent: () => undefined })
  const events = await turn('go', asking({ behavior: 'allow' }))
  expect(events.at(-1)).toMatchObject({ type: 'turn:end', reason: 'completed' })
  expect(made()).toBe(true)
})
