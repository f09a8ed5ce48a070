import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { connect, markerOf, open } from './support/mcp-program.ts'

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
  expect((await call('list_sessions')).json).toMatchObject([
    { session_id: id, title: 'Two and two?', agent: 'messages-api', state: 'done' },
  ])
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
    await call('start_session', { prompt: 'Hi', persona: 'NOBODY' }),
    await call('await_session', { session_id: 'none' }),
    await call('await_session', { session_id: '../x' }),
    await call('await_session', { session_id: 'none', timeout_seconds: 1e9 }),
    await call('approve', { request: 1 }),
  ]
  for (const refusal of refusals)
    expect(refusal).toMatchObject({ isError: true, text: expect.stringMatching(/\w/) })
  expect((await call('list_sessions')).json).toEqual([])
  expect(server.faults).toEqual([])
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
