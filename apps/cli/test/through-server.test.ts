import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { ServerRefusedError } from '@chirality/client'
import type { Envelope } from '@chirality/core'
import { CERTIFICATE } from '@chirality/fixtures'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startThroughServer } from '../src/commands/run/start-there.ts'
import { createWorld } from './support/world.ts'

test('a turn runs in the server that has the project, and looks like one of ours', async () => {
  const world = await createWorld({
    answers: [
      ...['Hello.', { text: 'This takes its time.', stallAfter: 1 }],
      ...[{ tool: 'Bash', input: { command: 'echo by the agent >> a.txt' } }, 'Written.'],
    ],
  })
  const home = path.join(world.home, 'chirality')
  const server = world.start(['serve', '--json', '--port', '0', '--project', world.project], {
    env: { CHIRALITY_HOME: home },
  })
  await server.shows('\n')
  const { url } = JSON.parse(server.stdout) as { url: string }

  const turn = await startThroughServer(url, { projectRoot: world.project, message: 'Hi' }, home)
  const envelopes: Envelope[] = []
  for await (const envelope of turn?.envelopes ?? []) envelopes.push(envelope)
  expect(envelopes.map(({ seq }) => seq)).toEqual(envelopes.map((_, i) => i + 1))
  expect(envelopes[0]).toMatchObject({
    sessionId: turn?.sessionId,
    event: { type: 'turn:start', message: 'Hi' },
  })
  expect(envelopes.find(({ event }) => event.type === 'chat:message')?.event).toMatchObject({
    text: 'Hello.',
  })

  const again = { projectRoot: world.project, sessionId: turn?.sessionId, message: 'And now slowly.' }
  const slow = await startThroughServer(url, again, home)
  await world.model.waitForRequest(({ state }) => state === 'stalled')
  await expect(startThroughServer(url, again, home)).rejects.toThrow(ServerRefusedError)
  await slow?.interrupt()
  const rest: Envelope[] = []
  for await (const envelope of slow?.envelopes ?? []) rest.push(envelope)
  expect(rest.find(({ event }) => event.type === 'turn:end')?.event).toMatchObject({ reason: 'interrupted' })

  // The commands about what a session changed go through the same server.
  const asked = (...args: string[]) => world.start(args, { env: { CHIRALITY_HOME: home } }).result()
  const id = turn?.sessionId ?? ''
  const add = ['schedule', 'add', 'Look.', '--project', world.project, '--name', 'Look']
  const added = await asked(...add, '--cron', '0 3 * * *', '--zone', 'Europe/Berlin', '--json')
  const look = { name: 'Look', what: { kind: 'prompt', prompt: 'Look.' }, isPaused: false, runs: [] }
  expect(JSON.parse(added.stdout)).toMatchObject({ ...look, next: expect.any(String) })
  expect((await asked('schedule', 'pause', 'Look')).stdout).toContain('Look · paused')
  expect((await asked('schedule', 'remove', 'Look')).code).toBe(0)
  expect(await asked(...add)).toMatchObject({ code: 2, stderr: expect.stringContaining('Say when') })
  expect((await asked(...add, '--every', 'often')).stderr).toContain('such as 30m, 6h or 1d')
  expect(await asked('changes', id)).toMatchObject({ code: 0, stdout: 'There is no git repository here.\n' })
  const git = (...args: string[]) => execFileSync('git', args, { cwd: world.project })
  git('init', '-q')
  writeFileSync(path.join(world.project, 'a.txt'), 'mine\n')
  git('add', 'a.txt')
  git('-c', 'user.name=a', '-c', 'user.email=a@example', 'commit', '-qm', 'first')
  writeFileSync(path.join(world.project, 'a.txt'), 'changed\n')
  const taken = await asked('discard', id, 'a.txt')
  expect(taken).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Discarded a.txt (done)\n  a.txt\n'),
  })
  expect(readFileSync(path.join(world.project, 'a.txt'), 'utf8')).toBe('mine\n')
  const move = /--undo (\S+)/.exec(taken.stdout)?.[1] ?? ''
  expect(await asked('changes', id)).toMatchObject({
    stdout: expect.stringContaining(`${move}  done    Discarded a.txt`),
  })
  expect(await asked('discard', id, '--undo', move)).toMatchObject({ code: 0 })
  expect(readFileSync(path.join(world.project, 'a.txt'), 'utf8')).toBe('changed\n')
  expect(await asked('merge', id)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no branch of its own'),
  })
  expect(await asked('commit', id)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('nothing to commit'),
  })

  // Which turn wrote a line is known with and without the server.
  const options = { autoApproveTools: ['Bash'] }
  const third = { projectRoot: world.project, sessionId: id, message: 'Add a line.', options }
  const writing = await startThroughServer(url, third, home)
  for await (const _ of writing?.envelopes ?? []);
  const a = path.join(world.project, 'a.txt')
  expect(readFileSync(a, 'utf8')).toBe('changed\nby the agent\n')
  await expect
    .poll(async () => (await asked('blame', `${a}:2`)).stdout, { timeout: 60_000 })
    .not.toContain('its end was not recorded')
  const line = await asked('blame', `${a}:2`)
  expect(line).toMatchObject({ code: 0, stderr: '' })
  expect(line.stdout).toMatch(
    /a\.txt:2 {2}by the agent\n {2}claude-code, .+ for the turn\n {2}Prompt: Add a line\.\n/,
  )
  const all = JSON.parse((await asked('blame', a, '--json')).stdout) as { lines: { origin: object }[] }
  expect(all.lines.map(({ origin }) => origin)).toMatchObject([{ kind: 'between' }, { kind: 'turns' }])
  git('-c', 'user.name=a', '-c', 'user.email=a@example', 'commit', '-qam', 'second')
  git('config', 'user.name', 'a')
  git('config', 'user.email', 'a@example')
  expect(await asked('blame', '--notes', '--project', world.project)).toMatchObject({
    ...{ code: 0, stdout: expect.stringContaining('git log --notes=chirality') },
  })
  const noted = git('log', '-1', '--notes=chirality').toString()
  expect(noted).toContain('Agents wrote 1 of 2 added lines.')
  expect(noted).toContain('Prompt: Add a line.')
  expect(noted).toContain('a.txt:2')
  for (const none of [path.join(world.project, 'none.txt'), path.join(world.project, '..', 'none.txt:3')])
    expect(await asked('blame', none)).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining(`There is no file ${none}.`) },
    })
  expect(await asked('blame', '/')).toMatchObject({ code: 2 })

  server.signal('SIGTERM')
  expect((await server.result()).code).toBe(0)
})

test('the token is not sent to an address that no server of this user has', async () => {
  const world = await createWorld()
  const request = { projectRoot: world.project, message: 'Hi' }
  expect(
    await startThroughServer('http://127.0.0.1:1', request, path.join(world.home, 'none')),
  ).toBeUndefined()
  expect(await startThroughServer('chirality run', request, path.join(world.home, 'none'))).toBeUndefined()
})

test('a server that has stopped, or was replaced by another program, causes a clear error', async () => {
  const world = await createWorld()
  const other = createServer((_request, response) => response.writeHead(404).end('<h1>Not here</h1>'))
  onTestFinished(() => void other.close())
  await once(other.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  const name = `${createHash('sha256').update(url).digest('hex').slice(0, 16)}.json`
  mkdirSync(path.join(world.home, 'servers'), { mode: 0o700 })
  const facts = JSON.stringify({ url, token: 'of-old', pid: 4711 })
  writeFileSync(path.join(world.home, 'servers', name), facts, { mode: 0o600 })
  const start = () => startThroughServer(url, { projectRoot: world.project, message: 'Hi' }, world.home)
  await expect(start()).rejects.toThrow(`The server at ${url} (process 4711) does not answer`)
  await new Promise(resolve => other.close(resolve))
  await expect(start()).rejects.toThrow(/does not answer: .*ECONNREFUSED/)
  await expect(start()).rejects.toThrow(ServerRefusedError)
})

describe('chirality run beside a server', () => {
  test('shows the turn that the server runs, and goes on with its session', async () => {
    const world = await createWorld({ answers: ['Hello.', 'Hello again.'] })
    const env = { CHIRALITY_HOME: path.join(world.home, 'chirality') }
    const server = world.start(['serve', '--json', '--port', '0', '--project', world.project], { env })
    await server.shows('\n')

    const first = await world.start(['run', 'Hi', '--json', '--project', world.project], { env }).result()
    expect(first).toMatchObject({ code: 0, stderr: '' })
    const envelopes = first.stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as Envelope)
    expect(envelopes.map(({ seq }) => seq)).toEqual(envelopes.map((_, i) => i + 1))
    expect(envelopes.filter(({ event }) => event.type === 'turn:end')).toHaveLength(1)

    const session = envelopes[0]?.sessionId ?? ''
    const second = await world.start(['run', 'Again', '--session', session], { env }).result()
    expect(second.code).toBe(0)
    expect(second.stdout).toContain('Hello again.')
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('Hi')
    server.signal('SIGTERM')
    expect((await server.result()).code).toBe(0)
  })

  test('Ctrl-C interrupts it there, and the server goes on', async () => {
    const world = await createWorld({ answers: [{ text: 'This takes its time.', stallAfter: 1 }] })
    const env = { CHIRALITY_HOME: path.join(world.home, 'chirality') }
    const server = world.start(['serve', '--json', '--port', '0', '--project', world.project], { env })
    await server.shows('\n')
    const run = world.start(['run', 'Slowly', '--project', world.project], { env })
    await world.model.waitForRequest(({ state }) => state === 'stalled')
    run.signal('SIGINT')
    expect((await run.result()).code).toBe(130)
    server.signal('SIGTERM')
    expect((await server.result()).code).toBe(0)
  })

  test('that others reach over TLS, under a name which this machine need not know', async () => {
    const world = await createWorld({ answers: ['Hello.'] })
    const env = { CHIRALITY_HOME: path.join(world.home, 'chirality') }
    const files = { cert: path.join(world.home, 'cert.pem'), key: path.join(world.home, 'key.pem') }
    for (const name of ['cert', 'key'] as const)
      writeFileSync(files[name], CERTIFICATE[name], { mode: 0o600 })
    const tls = [
      '--expose',
      '--origin',
      'https://agents.example',
      '--tls-cert',
      files.cert,
      '--tls-key',
      files.key,
    ]
    const server = world.start(['serve', '--json', '--port', '0', '--project', world.project, ...tls], {
      env,
    })
    await server.shows('\n')
    const run = await world.start(['run', 'Hi', '--project', world.project], { env }).result()
    expect(run).toMatchObject({ code: 0, stderr: '' })
    expect(run.stdout).toContain('Hello.')
    server.signal('SIGTERM')
    expect((await server.result()).code).toBe(0)
  })
})
