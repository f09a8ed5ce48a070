import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { findMarked } from './support/processes.ts'
import type { RunningCommand } from './support/running-command.ts'
import { createWorld, program, type World } from './support/world.ts'

interface Facts {
  url: string
  port: number
  token: string
  pid: number
  link: string
}

async function startServing(
  world: World,
  args: string[] = [],
  env: Record<string, string> = {},
): Promise<{ command: RunningCommand; facts: Facts }> {
  const command = world.start(['serve', '--json', '--port', '0', '--project', world.project, ...args], {
    env: { CHIRALITY_HOME: path.join(world.home, 'chirality'), ...env },
  })
  await command.shows('\n')
  return { command, facts: JSON.parse(command.stdout.split('\n')[0] ?? '') as Facts }
}

function call({ url, token }: Facts, route: string, body?: unknown): Promise<Response> {
  return fetch(`${url}${route}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
}

async function createSession(facts: Facts, { project }: World): Promise<string> {
  const body = { projectRoot: project, persona: null, mode: 'direct' }
  const created = await call(facts, '/api/harness/session/create', body)
  const { session } = (await created.json()) as { session: { id: string } }
  return session.id
}

function eventsOf({ project }: World, sessionId: string): string {
  return readFileSync(path.join(project, '.chirality', 'events', `${sessionId}.ndjson`), 'utf8')
}

test('serves until it is told to stop, and leaves nothing behind', async () => {
  const world = await createWorld({ otherwise: 'Hello.' })
  const { command, facts } = await startServing(world)
  expect(facts).toEqual({
    url: `http://127.0.0.1:${facts.port}`,
    port: expect.any(Number),
    token: expect.stringMatching(/^[\w-]{43}$/),
    pid: command.pid,
    link: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/#sign-in=[\w-]{43}$/),
  })
  expect((await fetch(`${facts.url}/healthz`)).status).toBe(200)
  expect((await fetch(`${facts.url}/api/harness/session/list`)).status).toBe(401)

  const servers = path.join(world.home, 'chirality', 'servers')
  const [file = ''] = readdirSync(servers)
  expect(statSync(path.join(servers, file)).mode & 0o777).toBe(0o600)
  expect(JSON.parse(readFileSync(path.join(servers, file), 'utf8'))).toMatchObject({
    url: facts.url,
    token: facts.token,
  })

  const listed = await call(facts, '/trpc/harnesses.list')
  const harnesses = (await listed.json()) as { result: { data: { id: string }[] } }
  expect(harnesses.result.data.map(({ id }) => id)).toContain('claude-code')
  const sessionId = await createSession(facts, world)
  const turn = await call(facts, '/api/harness/turn', { sessionId, message: 'Hi' })
  expect(await turn.text()).toMatch(/event: chat:message\ndata: .*Hello\..*event: turn:end/s)

  command.signal('SIGTERM')
  expect(await command.result()).toMatchObject({ code: 0, stderr: '' })
  expect(readdirSync(servers)).toEqual([])
})

test('a turn that runs ends with the server', async () => {
  const world = await createWorld({ answers: [{ text: 'This takes its time.', stallAfter: 1 }] })
  const { command, facts } = await startServing(world)
  const sessionId = await createSession(facts, world)
  const turn = call(facts, '/api/harness/turn', { sessionId, message: 'Hi' }).then(response =>
    response.text(),
  )
  await world.model.waitForRequest(({ state }) => state === 'stalled')
  command.signal('SIGINT')
  expect((await command.result()).code).toBe(0)
  await turn.catch(() => {})
  expect(eventsOf(world, sessionId)).toContain('"type":"turn:end"')
})

test('a second signal does not wait, and leaves no agent behind', async () => {
  const world = await createWorld()
  const stubborn = { CHIRALITY_CLAUDE_BIN: program('ignores-all.mjs') }
  const { command, facts } = await startServing(world, [], stubborn)
  const sessionId = await createSession(facts, world)
  await call(facts, '/trpc/turns.start', { sessionId, message: 'Hi' })
  await expect.poll(() => eventsOf(world, sessionId)).toContain('"text":"ready"')
  command.signal('SIGTERM')
  // The first thing that goes when it stops.
  await expect.poll(() => readdirSync(path.join(world.home, 'chirality', 'servers'))).toEqual([])
  command.signal('SIGTERM')
  expect(await command.result()).toMatchObject({ code: 0, stderr: '' })
  expect(findMarked(world.env.CHIRALITY_RUN ?? '')).toEqual([])
})

test('agents that are left work on, and the next server has their turn', async () => {
  const world = await createWorld({ answers: [{ text: 'This takes its time.', stallAfter: 1 }] })
  const { command, facts } = await startServing(world, ['--leave-agents'])
  const sessionId = await createSession(facts, world)
  await call(facts, '/trpc/turns.start', { sessionId, message: 'Hi' })
  await world.model.waitForRequest(({ state }) => state === 'stalled')
  const agents = findMarked(world.env.CHIRALITY_RUN ?? '').filter(({ pid }) => pid !== command.pid)
  expect(agents).not.toEqual([])
  command.signal('SIGTERM')
  expect((await command.result()).code).toBe(0)
  expect(findMarked(world.env.CHIRALITY_RUN ?? '')).toEqual(agents)
  expect(eventsOf(world, sessionId)).not.toContain('"type":"turn:end"')

  const next = await startServing(world)
  const busy = await call(next.facts, '/api/harness/turn', { sessionId, message: 'Me, too' })
  expect(busy.status).toBe(409)
  await call(next.facts, '/trpc/turns.kill', { sessionId })
  expect(eventsOf(world, sessionId).match(/"type":"turn:(start|end)"/g)).toHaveLength(2)
  next.command.signal('SIGTERM')
  expect((await next.command.result()).code).toBe(0)
})

test('a second server for a project prints the address of the first', async () => {
  const world = await createWorld()
  const { facts } = await startServing(world)
  const second = await world.start(['serve', '--json', '--port', '0', '--project', world.project]).result()
  expect(second).toMatchObject({ code: 1, stdout: '' })
  expect(second.stderr).toContain(facts.url)
})

test('a second serve of the same user, and `chirality link`, lead into the server that runs', async () => {
  const world = await createWorld()
  const { command, facts } = await startServing(world)
  const env = { CHIRALITY_HOME: path.join(world.home, 'chirality') }
  const second = await world.start(['serve', '--json', '--project', world.project], { env }).result()
  expect(second).toMatchObject({ code: 0, stderr: '' })
  const led = JSON.parse(second.stdout) as Facts
  expect(led).toMatchObject({ url: facts.url, pid: command.pid, running: true })
  const printed = await world.start(['link'], { env }).result()
  expect(printed).toMatchObject({ code: 0, stderr: '' })
  expect(printed.stdout).toContain('signs one browser in, once, within 10 minutes')
  const links = [facts.link, led.link, /http\S+/.exec(printed.stdout.split('\n')[2] ?? '')?.[0] ?? '']
  const tokens = await Promise.all(links.map(link => signIn(facts, link)))
  expect(new Set(tokens).size).toBe(3)

  const listed = await world.start(['link', '--list'], { env }).result()
  expect(listed.stdout.match(/^[0-9a-f]{16} .* until the server stops$/gm)).toHaveLength(3)
  const [first = ''] = listed.stdout.split(' ')
  expect(await world.start(['link', '--revoke', first], { env }).result()).toMatchObject({ code: 0 })
  const out = await Promise.all(tokens.map(token => call({ ...facts, token }, '/trpc/system.info')))
  expect(out.map(({ status }) => status).sort()).toEqual([200, 200, 401])
  expect((await world.start(['link', '--revoke', first], { env }).result()).stderr).toContain(
    '--list shows them',
  )
  expect((await world.start(['link', '--port', '1'], { env }).result()).stderr).toContain(
    'No server of yours',
  )

  command.signal('SIGTERM')
  expect((await command.result()).code).toBe(0)
  const none = await world.start(['link'], { env }).result()
  expect(none).toMatchObject({ code: 1, stdout: '' })
  expect(none.stderr).toContain('No server of yours runs. `chirality serve` starts one')
})

async function signIn({ url }: Facts, link: string): Promise<string> {
  const response = await fetch(`${url}/api/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ secret: new URL(link).hash.replace('#sign-in=', '') }),
  })
  return ((await response.json()) as { token: string }).token
}

test("the demo's model answers in the demo's project only; elsewhere the user's own key is used, or missed", async () => {
  const world = await createWorld({ otherwise: 'The real model.' })
  const askIn = async (facts: Facts, projectRoot: string) => {
    const body = { projectRoot, persona: null, mode: 'direct', harness: 'messages-api' }
    const created = await call(facts, '/api/harness/session/create', body)
    const { session } = (await created.json()) as { session: { id: string } }
    const message = 'Explain what you did.'
    return call(facts, '/api/harness/turn', { sessionId: session.id, message })
  }
  const demo = path.join(world.home, 'chirality', 'demo', 'greeter')

  const withKey = await startServing(world, ['--demo'])
  expect(await (await askIn(withKey.facts, world.project)).text()).toContain('The real model.')
  const asked = world.model.requests.length
  expect(asked).toBeGreaterThan(0)
  expect(await (await askIn(withKey.facts, demo)).text()).toContain(
    'This is the demo, with a model that plays a script.',
  )
  expect(world.model.requests).toHaveLength(asked)
  withKey.command.signal('SIGTERM')
  expect((await withKey.command.result()).code).toBe(0)

  const noKey = { ANTHROPIC_API_KEY: '', ANTHROPIC_AUTH_TOKEN: '' }
  const without = await startServing(world, ['--demo'], noKey)
  const refused = await askIn(without.facts, world.project)
  expect([refused.status, await refused.json()]).toEqual([
    412,
    { error: { code: 'auth_failed', message: expect.stringContaining('Set ANTHROPIC_API_KEY') } },
  ])
  const status = await (await call(without.facts, '/trpc/harnesses.status')).json()
  expect(JSON.stringify(status)).toMatch(/"messages-api":\{[^}]*"authenticated":false/)
  expect(await (await askIn(without.facts, demo)).text()).toContain('This is the demo')
  without.command.signal('SIGTERM')
  expect((await without.command.result()).code).toBe(0)
})

test('a server without protection is not exposed by accident', async () => {
  const world = await createWorld()
  const result = await world.run(['serve', '--host', '0.0.0.0', '--project', world.project])
  expect(result).toMatchObject({ code: 2, stdout: '' })
  expect(result.stderr).toContain('would let others reach this server')
})

describe('--expose tailscale', () => {
  const RUNNING = {
    BackendState: 'Running',
    Self: { DNSName: 'machine.tailnet.example.' },
    CertDomains: ['machine.tailnet.example'],
  }

  async function worldWith(status: object) {
    const world = await createWorld()
    const bin = path.join(world.home, 'tailscale-bin')
    mkdirSync(bin)
    symlinkSync(program('tailscale.mjs'), path.join(bin, 'tailscale'))
    writeFileSync(path.join(world.home, 'tailscale.json'), JSON.stringify(status))
    return { world, options: { env: { PATH: `${bin}:${world.env.PATH}` } } }
  }

  test('a phone of the tailnet signs in under the name of the machine, and nothing stays open after the stop', async () => {
    const { world, options } = await worldWith(RUNNING)
    const args = ['serve', '--json', '--port', '0', '--expose', 'tailscale', '--project', world.project]
    const command = world.start(args, options)
    await command.shows('"link"')
    const { url, link } = JSON.parse(command.stdout) as { url: string; link: string }
    // The server itself stays on loopback.
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:/)
    expect(link).toMatch(/^https:\/\/machine\.tailnet\.example\/#sign-in=/)
    const port = Number(readFileSync(path.join(world.home, 'tailscale-port'), 'utf8'))
    const secret = new URL(link).hash.replace('#sign-in=', '')
    const post = (host: string) =>
      new Promise<{ status: number; cookie: string; text: string }>((resolve, reject) => {
        const headers = {
          host,
          origin: 'https://machine.tailnet.example',
          'content-type': 'application/json',
        }
        const sent = request(
          { port, host: '127.0.0.1', method: 'POST', path: '/api/sign-in', headers },
          answer => {
            let text = ''
            answer.setEncoding('utf8').on('data', chunk => {
              text += chunk
            })
            answer.on('end', () =>
              resolve({ status: answer.statusCode ?? 0, cookie: `${answer.headers['set-cookie']}`, text }),
            )
          },
        )
        sent.on('error', reject).end(JSON.stringify({ secret }))
      })
    expect((await post('evil.example')).status).toBe(403)
    const signedIn = await post('machine.tailnet.example')
    expect(signedIn).toMatchObject({
      status: 200,
      cookie: expect.stringContaining('__Secure-chirality-device='),
    })
    const listed = await world.start(['link', '--list', '--json']).result()
    expect(JSON.parse(listed.stdout)).toMatchObject({
      ...{ origin: 'https://machine.tailnet.example', address: '100.64.0.7', remembered: true },
    })
    command.signal('SIGTERM')
    expect((await command.result()).code).toBe(0)
  })

  test.each([
    [
      'is logged out',
      { BackendState: 'NeedsLogin' },
      'Tailscale is logged out on this machine. Run `tailscale up`',
    ],
    ['is stopped', { ...RUNNING, BackendState: 'Stopped' }, 'Tailscale is stopped'],
    [
      'has no daemon',
      { fails: 'failed to connect to local tailscaled' },
      'failed to connect to local tailscaled',
    ],
    ['has no certificates', { ...RUNNING, CertDomains: null }, 'Turn HTTPS on in the admin console'],
    ['has no name', { ...RUNNING, Self: { DNSName: '' } }, 'Turn MagicDNS on'],
    ['serves something else', { ...RUNNING, refuses: 'port 443 is in use' }, '(port 443 is in use)'],
  ])('a tailscale that %s is told in one line', async (_how, status, message) => {
    const { world, options } = await worldWith(status)
    const args = ['serve', '--json', '--port', '0', '--expose', 'tailscale', '--project', world.project]
    const result = await world.run(args, options)
    expect(result).toMatchObject({ code: 1, stdout: '' })
    expect(result.stderr).toContain(message)
  })

  test('without the command it says where to get it', async () => {
    const world = await createWorld()
    const result = await world.run(['serve', '--expose', 'tailscale', '--project', world.project], {
      env: { PATH: path.dirname(process.execPath) },
    })
    expect(result).toMatchObject({ code: 1, stdout: '' })
    expect(result.stderr).toContain('Tailscale is not installed here')
  })
})

test('an unusable data folder causes a one-line error', async () => {
  const world = await createWorld()
  const env = { CHIRALITY_HOME: path.join(world.project, 'file', 'data') }
  writeFileSync(path.join(world.project, 'file'), '')
  const result = await world.run(['serve', '--json', '--project', world.project], { env })
  expect(result).toMatchObject({ code: 1, stdout: '' })
  expect(result.stderr).toMatch(/^chirality: Cannot use .* CHIRALITY_HOME names another\.\n$/)
})

test('without --json it prints one link', async () => {
  const world = await createWorld()
  const command = world.start(['serve', '--no-open', '--port', '0', '--project', world.project])
  await command.shows('Ctrl-C stops the server.')
  expect(command.stdout.match(/#sign-in=/g)).toHaveLength(1)
  command.signal('SIGTERM')
  expect(await command.result()).toMatchObject({ code: 0, stderr: 'Stopping, and the agents with it.\n' })
})

test('keys that the server was started with are in the environment of no process, and in no export', async () => {
  const canary = `kept${randomBytes(12).toString('hex')}`
  const names = CANARIES.filter(name => name !== 'ANTHROPIC_API_KEY')
  const env = Object.fromEntries(names.map((name, at) => [name, `${canary}-${at}`]))
  // Every process of this user, the server among them: whatever is readable there is readable for the command.
  const command = `cat /proc/$PPID/environ | tr '\\0' '\\n'; grep -alF "${canary.slice(0, 4)}""${canary.slice(4)}" /proc/[0-9]*/environ 2>/dev/null; echo "$PPID looked, and was given $FIRST_OF_MINE $SECOND_OF_MINE"`
  const world = await createWorld({ answers: [{ tool: 'bash', input: { command } }, 'Done.'] })
  mkdirSync(path.join(world.home, 'chirality'))
  writeFileSync(path.join(world.home, 'chirality', 'allow-env'), '# mine\nFIRST_OF_MINE\n')
  const { command: server, facts } = await startServing(world, ['--allow-env', 'SECOND_OF_MINE'], {
    ...{ FIRST_OF_MINE: 'one', SECOND_OF_MINE: 'two' },
    ...env,
    ANTHROPIC_API_KEY: `${canary}-api`,
  })
  const body = { projectRoot: world.project, persona: null, mode: 'direct', harness: 'messages-api' }
  const created = await call(facts, '/api/harness/session/create', body)
  const { session } = (await created.json()) as { session: { id: string } }
  const message = `These are mine:\n${Object.values(env).join('\n')}`
  const options = { permissionMode: 'bypassPermissions' }
  const turn = await call(facts, '/api/harness/turn', { sessionId: session.id, message, options })
  const stream = await turn.text()
  expect(stream).toContain(`${facts.pid} looked, and was given one two`)
  const result = /event: tool:result\ndata: (.*)/.exec(stream)?.[1] ?? ''
  expect(result).toContain('CHIRALITY_RUN=')
  expect(result).not.toContain(canary)
  expect(result).not.toMatch(/\/proc\/\d+\/environ/)
  // It still has its own key, and uses it.
  expect(world.model.requests.map(({ headers }) => headers['x-api-key'])).toContain(`${canary}-api`)

  for (const format of ['markdown', 'json', 'html']) {
    const exported = await call(facts, `/api/harness/session/${session.id}/export?format=${format}`)
    const text = await exported.text()
    expect(text).toContain('These are mine')
    expect(names.filter((_, at) => text.includes(`${canary}-${at}`))).toEqual([])
  }
  server.signal('SIGTERM')
  expect((await server.result()).code).toBe(0)
})

const CANARIES =
  'ANTHROPIC_API_KEY OPENAI_API_KEY CODEX_API_KEY MYSQL_PWD AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY GITHUB_PAT GITHUB_TOKEN DATABASE_URL SENTRY_DSN SLACK_WEBHOOK NPM_CONFIG__AUTH GRAFANA_SA LDAP_BIND_PW JIRA_PAT TELEGRAM_BOT UNHEARD_OF'.split(
    ' ',
  )
