import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { NewSessionRequest, RequestPermissionRequest } from '@agentclientprotocol/sdk'
import { listServerFiles } from '@chirality/server'
import { userDataFolder } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { type Answer, choose, openEditor, said } from './support/editor.ts'
import { asked, userTexts } from './support/requests.ts'
import type { RunningCommand } from './support/running-command.ts'
import { createWorld, type World } from './support/world.ts'

async function call(world: World, name: string, input?: unknown): Promise<unknown> {
  const [server] = await listServerFiles(userDataFolder(world.env))
  if (server === undefined) throw new Error('No server runs.')
  const query = input === undefined ? '' : `?input=${encodeURIComponent(JSON.stringify(input))}`
  const response = await fetch(`${server.url}/trpc/${name}${query}`, {
    headers: { authorization: `Bearer ${server.token}` },
  })
  return ((await response.json()) as { result: { data: unknown } }).result.data
}

async function decide(world: World, sessionId: string, behavior: 'allow' | 'deny'): Promise<number> {
  const [server] = await listServerFiles(userDataFolder(world.env))
  const [pending] = (await call(world, 'decisions.pending', { sessionId })) as {
    request: { requestId: string }
  }[]
  const response = await fetch(`${server?.url}/api/harness/decisions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server?.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ sessionId, requestId: pending?.request.requestId, decision: { behavior } }),
  })
  return response.status
}

async function ended(command: RunningCommand): Promise<void> {
  command.endInput()
  expect(await command.result()).toMatchObject({ code: 0 })
}

const bash = (command: string) => ({ tool: 'Bash', input: { command, description: 'x' } })

test('an editor prompts Claude Code, answers its request, lets the dashboard answer one, cancels, and loads the session after a restart', async () => {
  const world = await createWorld({
    answers: [
      { text: 'I look first.', ...bash('echo one > one.txt') },
      'One is there.',
      { text: 'Again.', ...bash('echo two > two.txt') },
      'Two is there.',
      { text: 'This takes its time.', stallAfter: 1 },
      'I remember.',
    ],
  })
  writeFileSync(path.join(world.project, 'notes.md'), 'herons\n')
  const editor = await openEditor(world)
  expect(editor.hello).toMatchObject({
    protocolVersion: 1,
    agentCapabilities: {
      loadSession: true,
      sessionCapabilities: { list: {}, resume: {}, close: {}, fork: {}, delete: {} },
    },
    agentInfo: { name: 'chirality' },
  })
  // What matters is whether they are started, and with which value.
  const witness = (name: string, value: string) => ({
    ...{ name, command: process.execPath, env: [{ name: 'TOKEN', value }] },
    args: ['-e', `require('fs').writeFileSync('../${value}', process.env.TOKEN)`],
  })
  const mcpServers: NewSessionRequest['mcpServers'] = [
    witness('my tools', 'sk-mine'),
    witness('other', 'sk-other'),
  ]
  const made = await editor.agent.request('session/new', { cwd: world.project, mcpServers })
  const { sessionId } = made
  expect(made.modes?.currentModeId).toBe('default')
  expect(made.configOptions?.map(({ id }) => id)).toEqual(['mode', 'model', 'effort'])

  // A prompt that is cancelled while its user is asked about a program begins no turn.
  const cards: RequestPermissionRequest[] = []
  const shown = new Promise<void>(resolve => {
    editor.current.answer = (request, signal) =>
      new Promise(done => {
        cards.push(request)
        signal.addEventListener('abort', () => done({ outcome: { outcome: 'cancelled' } }))
        resolve()
      })
  })
  const unasked = editor.prompt(sessionId, 'Never mind.')
  await shown
  expect(cards).toMatchObject([{ toolCall: { title: expect.stringContaining('-e') } }])
  expect(JSON.stringify(cards)).toContain('TOKEN')
  expect(JSON.stringify(cards)).not.toContain('"sk-mine"')
  await editor.agent.notify('session/cancel', { sessionId })
  expect(await unasked).toEqual({ stopReason: 'cancelled' })
  expect(asked(world.model)).toEqual([])

  let requested: RequestPermissionRequest | undefined
  const programs: string[] = []
  const onProgram =
    (otherwise: Answer): Answer =>
    (request, signal) => {
      const { toolCallId } = request.toolCall
      if (!toolCallId.startsWith('tool-server-')) return otherwise(request, signal)
      programs.push(toolCallId)
      return choose(toolCallId === 'tool-server-my-tools' ? 'allow_always' : 'reject_once')(request, signal)
    }
  editor.current.answer = onProgram((request, signal) => {
    requested = request
    return choose('allow_once')(request, signal)
  })
  const first = await editor.agent.request('session/prompt', {
    sessionId,
    prompt: [
      { type: 'text', text: 'Read ' },
      { type: 'resource_link', name: 'notes', uri: pathToFileURL(path.join(world.project, 'notes.md')).href },
      { type: 'resource', resource: { uri: 'file:///else/where.ts', text: 'const heron = 1' } },
    ],
  })
  expect(first).toMatchObject({ stopReason: 'end_turn' })
  const [sent = ''] = userTexts(asked(world.model)[0]).filter(text => text.startsWith('Read'))
  expect(sent).toContain('Read @notes.md')
  expect(sent).toContain('const heron = 1')
  expect(requested).toMatchObject({
    sessionId,
    toolCall: { title: 'echo one > one.txt', kind: 'execute' },
    options: expect.arrayContaining([
      { optionId: 'allow', name: 'Allow', kind: 'allow_once' },
      { optionId: 'reject', name: 'Deny', kind: 'reject_once' },
    ]),
  })
  expect(existsSync(path.join(world.project, 'one.txt'))).toBe(true)
  expect(said(editor.updates)).toBe('I look first.One is there.')
  expect(said(editor.updates, 'user_message_chunk')).toBe('')
  expect(programs).toEqual(['tool-server-my-tools', 'tool-server-other'])
  await expect.poll(() => existsSync(path.join(world.project, '..', 'sk-mine'))).toBe(true)
  const calls = editor.updates.filter(
    update => 'toolCallId' in update && !update.toolCallId.startsWith('tool-server-'),
  )
  expect(calls[0]).toMatchObject({ sessionUpdate: 'tool_call', kind: 'execute' })
  expect(calls.at(-1)).toMatchObject({ status: 'completed' })

  // The card of the editor waits until the dashboard has answered, and is taken back then.
  const taken = new Promise<void>(resolve => {
    editor.current.answer = (_, signal) =>
      new Promise(done => {
        signal.addEventListener('abort', () => {
          resolve()
          done({ outcome: { outcome: 'cancelled' } })
        })
        void decide(world, sessionId, 'allow')
      })
  })
  expect(await editor.prompt(sessionId, 'Again.')).toMatchObject({ stopReason: 'end_turn' })
  await taken
  expect(existsSync(path.join(world.project, 'two.txt'))).toBe(true)

  expect(await editor.agent.request('session/set_mode', { sessionId, modeId: 'acceptEdits' })).toEqual({})
  expect(await call(world, 'sessions.get', { sessionId })).toMatchObject({
    settings: { permissionMode: 'acceptEdits' },
  })
  const slow = editor.prompt(sessionId, 'Slowly.')
  await world.model.waitForRequest(({ state }) => state === 'stalled')
  await expect(editor.prompt(sessionId, 'Meanwhile?')).rejects.toThrow('at work')
  await editor.agent.notify('session/cancel', { sessionId })
  expect(await slow).toMatchObject({ stopReason: 'cancelled' })
  await ended(editor.command)

  const later = await openEditor(world)
  const { sessions } = await later.agent.request('session/list', { cwd: world.project })
  expect(sessions).toMatchObject([{ sessionId, cwd: world.project }])
  programs.length = 0
  later.current.answer = onProgram(choose('reject_once'))
  const loaded = await later.agent.request('session/load', { sessionId, cwd: world.project, mcpServers })
  expect(loaded.modes?.currentModeId).toBe('acceptEdits')
  expect(said(later.updates, 'user_message_chunk')).toContain('Again.')
  expect(said(later.updates)).toContain('I look first.One is there.Again.Two is there.')
  later.updates.length = 0
  expect(await later.prompt(sessionId, 'Do you remember?')).toMatchObject({ stopReason: 'end_turn' })
  expect(said(later.updates)).toBe('I remember.')
  // The first one was allowed for good, the second one never.
  expect(programs).toEqual(['tool-server-other'])
  expect(existsSync(path.join(world.project, '..', 'sk-other'))).toBe(false)
  expect(userTexts(asked(world.model).at(-1)).join('\n')).toContain('Again.')
  await ended(later.command)
})

test('an editor uses the server that runs: its sessions are there, work goes on without it, and what is said there reaches it', async () => {
  const world = await createWorld({
    answers: [bash('echo made > made.txt'), 'Made.', 'From the dashboard.'].map(answer =>
      typeof answer === 'string' ? answer : { text: 'I make it.', ...answer, tool: 'bash' },
    ),
  })
  const server = world.start(['serve', '--json', '--port', '0', '--project', world.project])
  await server.shows('\n')
  const args = ['--harness', 'messages-api']
  const first = await openEditor(world, args, () => new Promise(() => {}))
  const { sessionId } = await first.agent.request('session/new', { cwd: world.project, mcpServers: [] })
  const asking = first.prompt(sessionId, 'Make it.').catch(() => 'gone')
  await first.until(update => update.sessionUpdate === 'tool_call')
  // The editor dies while its user is asked.
  first.command.signal('SIGKILL')
  await first.command.result()
  await asking

  const second = await openEditor(world, args, choose('reject_once'))
  let isAsked = false
  const request = new Promise<void>(resolve => {
    second.current.answer = (given, signal) => {
      isAsked = true
      resolve()
      return choose('allow_once')(given, signal)
    }
  })
  await second.agent.request('session/resume', { sessionId, cwd: world.project, mcpServers: [] })
  await request
  await second.until(update => update.sessionUpdate === 'tool_call_update' && update.status === 'completed')
  expect(isAsked && existsSync(path.join(world.project, 'made.txt'))).toBe(true)
  await second.until(update => said([update]).includes('Made.'))

  const [{ url, token } = { url: '', token: '' }] = await listServerFiles(userDataFolder(world.env))
  await fetch(`${url}/trpc/turns.send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ sessionId, message: 'From elsewhere.' }),
  })
  await second.until(update => said([update]).includes('From the dashboard.'))
  expect(said(second.updates, 'user_message_chunk')).toBe('From elsewhere.')
  await ended(second.command)
  expect(server.isRunning).toBe(true)
  server.signal('SIGTERM')
  expect((await server.result()).code).toBe(0)
})

test('a server that is killed and started again: the prompt fails with a reason, and the next one goes on', async () => {
  const world = await createWorld({
    answers: ['One.', { text: 'Never said.', stallAfter: 'nothing' }],
    otherwise: 'Two.',
  })
  const serve = async () => {
    const server = world.start(['serve', '--json', '--port', '0', '--project', world.project])
    await server.shows('\n')
    return server
  }
  const killed = await serve()
  const { agent, prompt, command, updates } = await openEditor(world, ['--harness', 'messages-api'])
  const { sessionId } = await agent.request('session/new', { cwd: world.project, mcpServers: [] })
  expect(await prompt(sessionId, 'First.')).toMatchObject({ stopReason: 'end_turn' })
  const cut = prompt(sessionId, 'Second.').then(
    () => 'an answer',
    (error: Error) => error.message,
  )
  await world.model.waitForRequest(({ state }) => state === 'stalled')
  killed.signal('SIGKILL')
  await killed.result()
  expect(await cut).toContain('does not answer')
  const server = await serve()
  // Whatever is asked first finds the new one.
  const modes = ['acceptEdits', 'default'].map(modeId =>
    agent.request('session/set_mode', { sessionId, modeId }),
  )
  expect(await Promise.all(modes)).toEqual([{}, {}])
  expect(await prompt(sessionId, 'Third.')).toMatchObject({ stopReason: 'end_turn' })
  expect(said(updates)).toMatch(/One\..*Two\.$/s)
  expect(JSON.stringify(world.model.requests.at(-1)?.body)).toMatch(/First\..*Third\./s)
  // Opened twice at the same time, it is followed once.
  const load = () => agent.request('session/resume', { sessionId, cwd: world.project, mcpServers: [] })
  await Promise.all([load(), load()])
  const before = updates.length
  expect(await prompt(sessionId, 'Fourth.')).toMatchObject({ stopReason: 'end_turn' })
  expect(said(updates.slice(before))).toBe('Two.')
  await ended(command)
  server.signal('SIGTERM')
  expect((await server.result()).code).toBe(0)
})

test('what is no message, no known session or no request is answered with what is wrong, and the next request works', async () => {
  const world = await createWorld()
  const command = world.start(['acp', '--harness', 'messages-api'], { keepsInput: true })
  const ask = async (id: number, method: string, params: unknown = {}) => {
    command.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    await command.shows(`"id":${id},`)
    const lines = command.stdout.split('\n').filter(Boolean)
    return lines.map(line => JSON.parse(line)).find(line => line.id === id)
  }
  expect(await ask(1, 'session/new')).toMatchObject({ error: { code: -32_600 } })
  command.write('this is no JSON')
  await command.shows('"code":-32700')
  command.write('[]')
  command.write('{"id":2}')
  await command.shows('"id":2,')
  expect(await ask(3, 'initialize', { protocolVersion: 'one' })).toMatchObject({ error: { code: -32_602 } })
  expect(await ask(4, 'initialize', { protocolVersion: 99 })).toMatchObject({
    result: { protocolVersion: 1 },
  })
  expect(await ask(5, 'session/fly')).toMatchObject({ error: { code: -32_601 } })
  const prompt = { sessionId: 'none', prompt: [{ type: 'text', text: 'Hi' }] }
  expect(await ask(6, 'session/prompt', prompt)).toMatchObject({ error: { code: -32_002 } })
  expect(await ask(7, 'session/new', { cwd: 'relative' })).toMatchObject({ error: { code: -32_602 } })
  expect(await ask(8, 'session/new', { cwd: '/no/such/folder' })).toMatchObject({
    error: { message: expect.stringContaining('/no/such/folder') },
  })
  const unknown = { sessionId: 'nobody', cwd: world.project, mcpServers: [] }
  expect(await ask(9, 'session/load', unknown)).toMatchObject({ error: { code: -32_002 } })
  const servers = [{ name: 'tools', command: 'true', args: [], env: [{ name: 'TOKEN', value: 'sk-editor' }] }]
  const { result } = await ask(10, 'session/new', { cwd: world.project, mcpServers: servers })
  expect(result).toMatchObject({ _meta: { chirality: { unusedMcpServers: ['tools'] } } })
  await command.shows(
    'does not use these tool servers of this editor (tools: Messages API takes no tool servers)',
  )
  expect(command.stdout).not.toContain('sk-editor')
  const { sessionId } = result as { sessionId: string }
  for (const [id, blocks] of [
    [11, []],
    [12, 'Hi'],
    [13, [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }]],
  ] as const)
    expect(await ask(id, 'session/prompt', { sessionId, prompt: blocks })).toMatchObject({
      error: { code: -32_602 },
    })
  expect(await ask(14, 'session/set_mode', { sessionId, modeId: 'fly' })).toMatchObject({
    error: { code: -32_602 },
  })
  const huge = { sessionId, prompt: [{ type: 'text', text: 'x'.repeat(33 * 1024 * 1024) }] }
  expect(await ask(15, 'session/prompt', huge)).toMatchObject({
    error: { code: -32_600, message: expect.stringContaining('At most 32 MiB') },
  })
  expect(await ask(16, 'session/list')).toMatchObject({ result: { sessions: [{ sessionId }] } })
  await ended(command)
})
