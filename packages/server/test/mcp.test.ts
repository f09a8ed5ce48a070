import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { connect, markerOf, open } from './support/mcp-program.ts'
import { startTestServer } from './support/test-server.ts'

test('a program starts a session, waits for its answer, goes on with it and reads it', async () => {
  const { client, call, start, server } = await open({ answers: ['Four.', 'Because.'] })
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual([
    ...['list_agents', 'list_sessions', 'start_session', 'send_message', 'await_session', 'read_session'],
    ...['stop_session', 'list_loops', 'start_loop', 'await_loop', 'read_loop'],
  ])
  expect((await call('list_agents')).json).toMatchObject({
    agents: expect.arrayContaining([{ agent: 'messages-api', name: expect.any(String), installed: true }]),
    personas: [],
  })
  const id = await start({ prompt: 'Two and two?\nOne word.' })
  expect((await call('await_session', { session_id: id })).json).toMatchObject({
    ...{ session_id: id, state: 'done', answer: 'Four.' },
  })
  expect((await call('send_message', { session_id: id, message: 'Why?' })).json).toEqual({ queued: false })
  expect((await call('await_session', { session_id: id })).json).toMatchObject({ answer: 'Because.' })
  const read = await call('read_session', { session_id: id })
  expect(read.text).toMatch(/Two and two\?.*Four\..*Why\?.*Because\./s)
  expect((await call('read_session', { session_id: id, max_chars: 500 })).text.length).toBeLessThan(700)
  expect((await call('list_sessions')).json).toMatchObject({
    sessions: [{ session_id: id, title: 'Two and two?', agent: 'messages-api', state: 'done' }],
  })
  expect(server.faults).toEqual([])
})

test('the answer is that of the last turn, and never one of an earlier turn', async () => {
  const slow = { text: 'This takes its time.', stallAfter: 1 }
  const { world, call, start } = await open({ answers: ['Four.', slow] })
  const id = await start({ prompt: 'Two and two?' })
  await call('await_session', { session_id: id })
  await call('send_message', { session_id: id, message: 'And three?' })
  await world.model.waitForRequest(({ state }) => state === 'stalled')
  const { json } = await call('await_session', { session_id: id, timeout_seconds: 0.1 })
  expect(json).toMatchObject({ state: 'running' })
  expect((json as { answer: string }).answer).not.toContain('Four')
  await call('stop_session', { session_id: id })
})

test('a call that waits tells its program so, which waits on, and its default is shorter than a client waits', async () => {
  const slow = { text: 'This takes its time.', stallAfter: 1 }
  const { world, client, start } = await open({ answers: [slow] })
  const id = await start({ prompt: 'Take your time.' })
  await world.model.waitForRequest(({ state }) => state === 'stalled')
  let told = 0
  const result = await client.callTool(
    { name: 'await_session', arguments: { session_id: id, timeout_seconds: 300 } },
    undefined,
    {
      timeout: 600_000,
      resetTimeoutOnProgress: true,
      onprogress: ({ message, progress }) => {
        told += 1
        expect(progress).toBe(told)
        expect(message).toContain('running')
        if (told === 2) world.model.release()
      },
    },
  )
  expect(told).toBeGreaterThanOrEqual(2)
  expect(result.structuredContent).toMatchObject({ session_id: id, answer: 'This takes its time.' })
  const { tools } = await client.listTools()
  for (const { name, inputSchema } of tools.filter(tool => tool.name.startsWith('await_')))
    expect([name, inputSchema.properties?.timeout_seconds]).toEqual([
      name,
      expect.objectContaining({ default: 45 }),
    ])
})

test('a program knows before it calls what a tool does, and what it returns', async () => {
  const { client } = await open({ answers: [] })
  const { tools } = await client.listTools()
  const reads = tools.filter(({ annotations }) => annotations?.readOnlyHint)
  expect(reads.map(({ name }) => name)).toEqual([
    ...['list_agents', 'list_sessions', 'await_session', 'read_session'],
    ...['list_loops', 'await_loop', 'read_loop'],
  ])
  for (const { name, title, annotations, outputSchema } of tools) {
    expect(title, name).toMatch(/^[A-Z]/)
    expect(annotations).toMatchObject({
      destructiveHint: expect.any(Boolean),
      idempotentHint: expect.any(Boolean),
      openWorldHint: expect.any(Boolean),
    })
    // The conversation is a text.
    expect(outputSchema?.type, name).toBe(name === 'read_session' ? undefined : 'object')
  }
})

test('the list tells the state of a session that failed as await_session does, also after a restart', async () => {
  const { world, server, call, start } = await open({ answers: [{ error: 400 }] })
  const id = await start({ prompt: 'Fail.' })
  expect((await call('await_session', { session_id: id })).json).toMatchObject({ state: 'failed' })
  const stateIn = async (program: typeof call) =>
    ((await program('list_sessions')).json as { sessions: { state: string }[] }).sessions[0]?.state
  expect(await stateIn(call)).toBe('failed')
  await server.close()
  const next = await startTestServer({ harnesses: world.harnesses(), projects: [world.project] })
  expect(await stateIn((await connect(next, world.project)).call)).toBe('failed')
})

test('what a session asks waits for the user: no tool answers it, and the program is told', async () => {
  const command = 'echo made > made.txt'
  const { world, call, start, server } = await open({
    answers: [{ text: 'I make it.', tool: 'bash', input: { command } }, 'Made.'],
  })
  const id = await start({ prompt: 'Make it.' })
  const waiting = await call('await_session', { session_id: id })
  expect(waiting.json).toMatchObject({ state: 'waiting', waits_for_user: ['bash'] })
  expect(existsSync(path.join(world.project, 'made.txt'))).toBe(false)
  const [pending] = server.host.decisions.pending(id)
  server.host.decisions.answer(id, pending?.request.requestId ?? '', { behavior: 'allow' })
  expect((await call('await_session', { session_id: id })).json).toMatchObject({ answer: 'Made.' })
})

test('the token is for one project and for nothing but MCP, and a session of the user takes no words from a program', async () => {
  const { world, server, token, url, call } = await open({ answers: [], otherwise: 'Hello.' })
  const mine = await server.host.createSession(world.project, { harness: 'messages-api' })
  for (const tool of ['send_message', 'stop_session'])
    expect(await call(tool, { session_id: mine.id, message: 'Do it.' })).toMatchObject({ isError: true })
  const refused = await call('send_message', { session_id: mine.id, message: 'Do it.' })
  expect(refused.text).toContain('only the user may use it')

  await server.post('/trpc/projects.register', { path: server.project })
  const other = await server.host.createSession(server.project, { harness: 'messages-api' })
  const foreign = await call('read_session', { session_id: other.id })
  expect(foreign).toMatchObject({ isError: true, text: expect.stringContaining('There is no session') })

  const withToken = { authorization: `Bearer ${token}` }
  for (const route of ['/api/harness/session/list', '/trpc/system.info', '/api/harness/decisions'])
    expect((await fetch(`${server.url}${route}`, { headers: withToken })).status).toBe(401)
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  const post = (headers: Record<string, string>) =>
    fetch(url, {
      ...{ method: 'POST', body: ping },
      headers: {
        ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        ...headers,
      },
    })
  expect((await post(withToken)).status).toBe(200)
  expect((await post({})).status).toBe(401)
  expect((await post({ authorization: `Bearer ${server.token}` })).status).toBe(401)
  expect((await post({ ...withToken, origin: server.url })).status).toBe(403)
  expect((await fetch(url, { headers: withToken })).status).toBe(405)
})

test('wrong input is answered with what is wrong, and starts nothing', async () => {
  const { call, server } = await open({ answers: [] })
  const refusals = [
    await call('start_session', { prompt: '' }),
    await call('start_session', { prompt: 'Hi', agent: 'nobody' }),
    await call('start_session', { prompt: 'Hi', permission_mode: 'bypassPermissions' }),
    await call('start_session', { prompt: 'Hi', permission_mode: 'auto' }),
    await call('start_session', { prompt: 'Hi', persona: 'NOBODY' }),
    await call('await_session', { session_id: 'none' }),
    await call('await_session', { session_id: '../x' }),
    await call('await_session', { session_id: 'none', timeout_seconds: 1e9 }),
    await call('approve', { request: 1 }),
  ]
  for (const refusal of refusals)
    expect(refusal).toMatchObject({ isError: true, text: expect.stringMatching(/\w/) })
  for (const mode of ['auto', 'bypassPermissions']) {
    const refused = await call('start_session', { prompt: 'Hi', permission_mode: mode })
    expect(refused.text).toContain(
      `${mode} is refused: a program cannot let an agent work unasked, only the user can`,
    )
  }
  expect((await call('list_sessions')).json).toEqual({ sessions: [] })
  expect(server.faults).toEqual([])
})

test.each([
  ...['x', 'a:b', 'not a marker', '0123456789:'],
  // As Chirality makes them, of an agent that ended or of another server.
  ...['9f0c7d1e-0000-4000-8000-000000000000', '9f0c7d1e-0000-4000-8000-000000000000:1234567890abcdef'],
])('a program with the marker %j gets no token', async marker => {
  const server = await startTestServer()
  const response = await server.post('/trpc/system.newProgramToken', { project: server.project, marker })
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: { data: { reason: 'invalid-input' } } })
})

test('agents cannot start agents without end, nor with more than they may do themselves', async () => {
  const { world, server, start, call } = await open({
    answers: [],
    otherwise: { text: 'This takes its time.', stallAfter: 1 },
  })
  const id = await start({ prompt: 'Go.', permission_mode: 'plan' })
  const below = async (sessionId: string) => {
    const { call } = await connect(server, world.project, markerOf(world.project, sessionId))
    return (input: object) => call('start_session', { prompt: 'Go.', agent: 'messages-api', ...input })
  }
  const startBelow = await below(id)
  expect(await startBelow({ permission_mode: 'acceptEdits' })).toMatchObject({ isError: true })
  const second = await startBelow({})
  expect(second.isError).toBe(false)
  const { session_id: secondId } = JSON.parse(second.text) as { session_id: string }
  expect((await server.host.session(secondId)).stored.settings.permissionMode).toBe('plan')
  const startThird = await below(secondId)
  expect(await startThird({})).toMatchObject({
    ...{ isError: true, text: expect.stringContaining('one below the other') },
  })

  for (let i = 0; i < 6; i += 1) await start({ prompt: 'Go.' })
  expect((await call('start_session', { prompt: 'Go.', agent: 'messages-api' })).text).toContain(
    'at work already',
  )
  expect((await call('stop_session', { session_id: id })).json).toEqual({ stopped: true })
  await (await server.host.session(id)).settled()
  await start({ prompt: 'Go.' })
})
