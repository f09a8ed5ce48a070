import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry, OwnAgents } from '@chirality/runner'
import { expect, test } from 'vitest'
import { rawRequest } from './support/raw-request.ts'
import { startTestServer, type TestServer } from './support/test-server.ts'

interface Listed {
  file: string
  agents: { name: string; fingerprint: string }[]
  problems: string[]
  refusal: string | null
}

async function query<T>(server: TestServer, call: string): Promise<T> {
  const response = await server.fetch(`/trpc/${call}`)
  return ((await response.json()) as { result: { data: T } }).result.data
}

async function ask(server: TestServer, call: string, input: object) {
  const response = await server.post(`/trpc/agents.${call}`, input)
  const body = (await response.json()) as {
    result?: { data: unknown }
    error?: { message: string; data: { reason: string } }
  }
  return { status: response.status, data: body.result?.data, reason: body.error?.data.reason }
}

/** A program that answers `initialize` with this. */
function speaker(answer: object): string {
  return `process.stdin.on('data', chunk => {
    const { id } = JSON.parse(String(chunk))
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...${JSON.stringify(answer)} }))
  })`
}

const program = (name: string, source: string) => ({
  ...{ name, command: process.execPath, args: ['-e', source], env: [] },
})

async function tryIt(server: TestServer, name: string) {
  const { agents } = await query<Listed>(server, 'agents.list')
  const fingerprint = agents.find(agent => agent.name === name)?.fingerprint ?? ''
  return (await ask(server, 'test', { name, fingerprint })).data
}

test('an agent that is added can be used at once, is tried as it was shown, and is removed', async () => {
  const server = await startTestServer()
  const hello = {
    result: {
      ...{ protocolVersion: 1, agentInfo: { name: 'mine', version: '4.2' } },
      agentCapabilities: { loadSession: true, promptCapabilities: { image: true } },
      authMethods: [{ id: 'x', name: 'An account' }],
    },
  }
  const mine = { ...program('mine', speaker(hello)), title: 'My agent', env: ['MY_KEY'] }
  expect((await ask(server, 'add', mine)).status).toBe(200)
  expect(await ask(server, 'add', mine)).toMatchObject({ status: 400, reason: 'invalid_query' })
  expect(await query(server, 'harnesses.list')).toMatchObject([{ id: 'acp-mine', name: 'My agent' }])
  const listed = await query<Listed>(server, 'agents.list')
  expect(listed).toMatchObject({ agents: [{ ...mine, id: 'acp-mine' }], problems: [], refusal: null })
  expect(JSON.parse(readFileSync(listed.file, 'utf8'))).toMatchObject({ agents: [{ name: 'mine' }] })
  expect(await tryIt(server, 'mine')).toMatchObject({
    ...{ kind: 'answered', version: '4.2', can: ['resume', 'images'], logins: ['An account'] },
  })
  expect(await ask(server, 'test', { name: 'mine', fingerprint: 'of another' })).toMatchObject({
    ...{ status: 409, reason: 'changed' },
  })
  expect((await ask(server, 'remove', { name: 'mine' })).status).toBe(200)
  expect((await ask(server, 'remove', { name: 'mine' })).reason).toBe('not-found')
  expect(await query(server, 'harnesses.list')).toEqual([])
  expect(server.faults).toEqual([])
})

test('what is wrong with a program is said: missing, another protocol, no JSON, no answer', async () => {
  const home = path.join((await startTestServer()).home, 'agents')
  const harnesses = new HarnessRegistry<SessionHarness>()
  const agents = new OwnAgents({ dataFolder: home, harnesses, testMs: 90_000 })
  const server = await startTestServer({ harnesses, agents })
  const wrong = [
    [{ ...program('missing', ''), command: 'no-such-program' }, 'There is no program no-such-program'],
    [program('future', speaker({ result: { protocolVersion: 99 } })), 'version 99'],
    [program('refuses', speaker({ error: { code: -32_603, message: 'Not today' } })), 'Not today'],
    [program('ends', 'console.log("Usage: ends FILE"); process.exit(2)'), 'Usage: ends FILE'],
  ] as const
  for (const [agent, words] of wrong) {
    expect((await ask(server, 'add', agent)).status).toBe(200)
    expect(await tryIt(server, agent.name)).toMatchObject({
      ...{ kind: 'failed', error: expect.stringContaining(words) },
    })
  }
  const impatient = new OwnAgents({ dataFolder: home, harnesses, testMs: 300 })
  await impatient.add(program('mute', 'setInterval(() => {}, 1000)'))
  const [mute] = (await impatient.list()).agents.filter(({ name }) => name === 'mute')
  if (mute === undefined) throw new Error('It was not added.')
  expect(await impatient.test(mute)).toMatchObject({
    ...{ kind: 'failed', error: expect.stringContaining('did not answer "initialize" in time') },
  })
  expect(server.faults).toEqual([])
})

test('agents that cannot tell of their conversations are named beside those of the others', async () => {
  const server = await startTestServer()
  const hello = { result: { protocolVersion: 1, agentInfo: { name: 'mine' }, agentCapabilities: {} } }
  expect((await ask(server, 'add', program('mine', speaker(hello)))).status).toBe(200)
  const missing = { ...program('missing', ''), command: 'no-such-program' }
  expect((await ask(server, 'add', missing)).status).toBe(200)
  const listed = (input: object) => `sessions.native?input=${encodeURIComponent(JSON.stringify(input))}`
  const { project } = server
  expect(await query(server, listed({ project }))).toEqual({
    sessions: [],
    faults: [
      { harness: 'acp-mine', message: expect.stringContaining('session/list') },
      { harness: 'acp-missing', message: expect.stringContaining('no-such-program') },
    ],
  })
  const one = await server.fetch(`/trpc/${listed({ project, harness: 'acp-missing' })}`)
  expect(await one.json()).toMatchObject({ error: { data: { reason: 'not_installed' } } })
  expect(server.faults).toEqual([])
})

test('bad input adds nothing, and a damaged file is told and not overwritten', async () => {
  const server = await startTestServer()
  const good = program('good', '')
  for (const bad of [
    { ...good, name: '../good' },
    { ...good, name: '' },
    { ...good, name: 'x'.repeat(36) },
    { ...good, command: '' },
    { ...good, args: 'one' },
    { ...good, args: ['\0'] },
    { ...good, env: ['KEY=value'] },
    { ...good, cwd: '/' },
  ])
    expect((await ask(server, 'add', bad)).status, JSON.stringify(bad)).toBe(400)
  const { file, agents } = await query<Listed>(server, 'agents.list')
  expect(agents).toEqual([])
  writeFileSync(file, '{"agents": [')
  expect((await query<Listed>(server, 'agents.list')).problems).toHaveLength(1)
  expect((await ask(server, 'add', good)).status).toBe(400)
  expect(readFileSync(file, 'utf8')).toBe('{"agents": [')
})

test('a browser at another machine sees the agents and adds, tries and removes none', async () => {
  const NAME = 'https://agents.example'
  const server = await startTestServer({ publicOrigins: [NAME] })
  expect((await ask(server, 'add', program('mine', ''))).status).toBe(200)
  const send = (url: string, body: object, headers: Record<string, string> = {}) =>
    rawRequest(server.port, {
      ...{ method: 'POST', path: url, body: JSON.stringify(body) },
      headers: {
        ...{ host: 'agents.example', origin: NAME, 'content-type': 'application/json' },
        ...headers,
      },
    })
  const secret = new URL(server.link).hash.replace('#sign-in=', '')
  const signedIn = await send('/api/sign-in', { secret })
  const { token } = JSON.parse(signedIn.text) as { token: string }
  const authorization = `Bearer ${token}`
  const [{ fingerprint } = { fingerprint: '' }] = (await query<Listed>(server, 'agents.list')).agents
  for (const [call, input] of [
    ['add', program('other', '')],
    ['test', { name: 'mine', fingerprint }],
    ['remove', { name: 'mine' }],
  ] as const) {
    const refused = await send(`/trpc/agents.${call}`, input, { authorization })
    expect(refused.status, call).toBe(403)
    expect(refused.text).toContain('add it in a browser there')
  }
  expect((await query<Listed>(server, 'agents.list')).agents.map(({ name }) => name)).toEqual(['mine'])
})
