import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import type { UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { ofType } from '../support/turns.ts'
import { ECHO } from '../tool-server/support.ts'
import { useFakeAgents } from './fake-agent.ts'

// An agent that a user configured may do anything. It harms nothing, and no turn hangs. The arena checks that no process is left.

const { arena, create, turn, collect } = useFakeAgents()

test('a turn: thoughts, a plan, an edit with its diff, the cost and the answer', async () => {
  const events = await turn('works')
  expect(ofType(events, 'chat:thinking').at(-1)).toMatchObject({ text: 'Let me see.', final: true })
  expect(ofType(events, 'status').find(({ todos }) => todos)?.todos).toEqual([
    { text: 'Look', state: 'done' },
    { text: 'Write', state: 'active' },
  ])
  expect(ofType(events, 'tool:start')).toMatchObject([{ name: 'Edit', input: { file_path: '/p/a.txt' } }])
  expect(ofType(events, 'tool:result')).toMatchObject([
    { edits: [{ path: '/p/a.txt', change: 'update', swaps: [{ before: 'one', after: 'two' }] }] },
  ])
  expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'Done.' }])
  expect(ofType(events, 'session:complete')).toMatchObject([{ costUsd: 0.5 }])
})

test('tokens are counted where the agent gives them: with its text, or with the end of the turn', async () => {
  const [along, atEnd] = [await turn('counts'), await turn('counts-at-end')]
  expect(ofType(along, 'session:complete')[0]?.usage).toMatchObject({
    input_tokens: 120,
    output_tokens: 10,
    cache_read_input_tokens: 2,
  })
  expect(ofType(atEnd, 'session:complete')[0]?.usage).toMatchObject({ input_tokens: 7, output_tokens: 3 })
})

test('an agent that announces resume and lacks it is asked to load, and earlier costs are not those of the turn', async () => {
  const harness = create('loads', { spec: { countsWholeCost: true } })
  const session = arena.session({ claudeSessionId: 'one' })
  const first = await collect(harness, 'Hi', {}, session)
  expect(session.claudeSessionId).toBe('one')
  expect(ofType(first, 'session:error')).toEqual([])
  expect(ofType(first, 'session:complete')[0]?.costUsd).toBeUndefined()
  const second = await collect(harness, 'Again', {}, session)
  expect(ofType(second, 'session:complete')[0]?.costUsd).toBeCloseTo(0.1)
})

test('a load that repeats more than is kept unread, and asks meanwhile, ends, and nothing of it is told', async () => {
  const session = arena.session({ claudeSessionId: 'one' })
  const events = await collect(create('replays'), 'Hi', {}, session)
  expect(session.claudeSessionId).toBe('one')
  expect(ofType(events, 'permission:request')).toEqual([])
  expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'Hello. ' }])
})

test('a model of an agent without options is set by its own method, and another one is refused', async () => {
  const events = await turn('loads', { model: 'large' })
  expect(ofType(events, 'chat:complete')[0]?.text).toContain('model large')
  await expect(turn('loads', { model: 'huge' })).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('it offers small, large'),
  })
})

test('what the agent is sent is kept beside what it says, without the secrets of tool servers', async () => {
  const mcpServers = {
    tools: {
      type: 'stdio' as const,
      command: 'true',
      args: ['--key', 'sk-of-the-server'],
      env: { TOKEN: 'sk-of-the-server' },
    },
  }
  await turn('good', { mcpServers })
  const folder = path.join(arena.project, '.chirality', 'logs', 'acp-fake')
  const files = readdirSync(folder)
  const [sent] = files.filter(file => file.endsWith('.sent'))
  expect(files).toContain(sent?.replace(/sent$/, 'ndjson'))
  const text = readFileSync(path.join(folder, sent ?? ''), 'utf8')
  const methods = text
    .trim()
    .split('\n')
    .map(line => (JSON.parse(line) as { method: string }).method)
  expect(methods).toEqual(['initialize', 'session/new', 'session/prompt'])
  expect(text).toContain('"name":"TOKEN"')
  expect(text).not.toContain('sk-of-the-server')
  expect(statSync(path.join(folder, sent ?? '')).mode & 0o777).toBe(0o600)
})

test('wrong ids, another session and unknown updates end nothing, and are shown', async () => {
  const events = await turn('wrong-ids')
  expect(ofType(events, 'native:unknown').map(({ nativeType }) => nativeType)).toEqual([
    'agent_message_chunk of another session',
    'session/update/from_the_future',
  ])
  expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'Hello. ' }])
  expect(JSON.stringify(ofType(events, 'chat:delta'))).not.toContain('not yours')
})

test('a second answer, and the next turn in the same process', async () => {
  const harness = create('twice')
  const session = arena.session()
  for (const message of ['one', 'two']) {
    const events = await collect(harness, message, {}, session)
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
    expect(ofType(events, 'chat:complete')).toHaveLength(1)
  }
})

test('a flood and a line of 20 MB arrive whole', async () => {
  const flood = await turn('flood')
  expect(ofType(flood, 'chat:complete')[0]?.text).toMatch(/29998 29999 $/)
  const huge = await turn('huge')
  expect(ofType(huge, 'turn:end')).toMatchObject([{ reason: 'completed' }])
})

test.each(['dies-start', 'dies-initialize', 'dies-new', 'no-json', 'protocol-99', 'silent', 'login'])(
  'a start that fails is told: %s',
  async behaviour => {
    const error: unknown = await turn(behaviour).then(
      () => 'it ran',
      reason => reason,
    )
    expect(error).toMatchObject({
      harnessId: 'acp-fake',
      message: expect.stringMatching(SAID[behaviour] ?? /fake/),
    })
  },
)

const SAID: Record<string, RegExp> = {
  'no-json': /I am no agent/,
  'protocol-99': /speaks version 99 .* Chirality version 1/,
  silent: /did not answer "initialize" in time/,
  login: /Log in with the program itself/,
}

test('a command that is missing is named', async () => {
  const harness = create('good', { command: '/nowhere/agent' })
  await expect(collect(harness, 'Hi')).rejects.toMatchObject({
    code: 'not_installed',
    message: expect.stringContaining('There is no program /nowhere/agent'),
  })
  expect(await harness.checkInstallStatus()).toMatchObject({ installed: false })
})

test('a query whose agent cannot be started leaves no tool server running', async () => {
  const servers = () => process.getActiveResourcesInfo().filter(name => name === 'TCPServerWrap').length
  const before = servers()
  const spec = { capabilities: { supportsClientTools: true } }
  const harness = create('good', { command: '/nowhere/agent', spec })
  const query = harness.query({
    prompt: 'Hi',
    cwd: arena.project,
    mode: 'workspace-write',
    clientTools: [ECHO],
    signal: new AbortController().signal,
  })
  await expect(query.next()).rejects.toMatchObject({ code: 'not_installed' })
  await expect.poll(servers, { timeout: 20_000 }).toBe(before)
})

test.each(['dies-prompt', 'dies-text', 'dies-asking'])(
  'an agent that dies ends the turn: %s',
  async behaviour => {
    const decide = () => new Promise<never>(() => {})
    const events = await turn(behaviour, { permissionMode: 'default', decide })
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'crashed' }])
    expect(ofType(events, 'session:error')).toMatchObject([{ code: 'process_crashed' }])
  },
)

test.each(['waits', 'deaf'])(
  'an interrupt ends a turn whatever the agent makes of it: %s',
  async behaviour => {
    const harness = create(behaviour)
    const session = arena.session()
    const events: UIEvent[] = []
    for await (const event of harness.startTurn(session, 'Hi')) {
      events.push(event)
      if (event.type === 'chat:delta') harness.interrupt(session.id)
    }
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'interrupted' }])
  },
)

test('a conversation that is gone is told, and a new one begins', async () => {
  const session = arena.session({ claudeSessionId: 'gone' })
  const events = await collect(create('good'), 'Hi', {}, session)
  expect(ofType(events, 'session:error')).toMatchObject([{ code: 'session_not_found', recovered: true }])
  expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
  expect(session.claudeSessionId).toBe('one')
})

test.each([
  ['lists', 'old'],
  ['lists-nothing', 'one'],
  // It cannot be known that the agent does not have the conversation.
  ['lists-refused', 'old'],
  ['lists-again', 'old'],
  ['lists-endless', 'old'],
])(
  'a load that repeats nothing is believed unless the agent lists others only: %s goes on with %s',
  async (behaviour, conversation) => {
    const session = arena.session({ claudeSessionId: 'old' })
    const events = await collect(create(behaviour), 'Hi', {}, session)
    expect(session.claudeSessionId).toBe(conversation)
    expect(ofType(events, 'session:error')).toHaveLength(conversation === 'old' ? 0 : 1)
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
  },
)
