import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { claudeBinary, initRepository } from '@chirality/fixtures'
import { ClaudeCodeHarness, CodexHarness, MARKER_VARIABLE, MessagesApiHarness } from '@chirality/runner'
import { claudeEnv, type ScriptedModel } from '@chirality/scripted-model'
import { beforeEach, expect, test } from 'vitest'
import type { SessionHost } from '../../src/host/session-host.ts'
import type { LiveSession } from '../../src/status/live-session.ts'
import { bodiesAfter, eventsOf, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()
let there: string

beforeEach(() => {
  const repository = initRepository(world.project)
  repository.write('.gitignore', '.env\n.chirality\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  there = join(world.root, 'there', 'project')
  repository.run('clone', '-q', world.project, there)
})

interface Agent {
  /** With a HOME of its own on each machine. */
  make(model: ScriptedModel, home: string): SessionHarness
  command(shell: string): { tool: string; input: Record<string, unknown> }
}

function environment(model: ScriptedModel, home: string) {
  mkdirSync(join(home, 'tmp'), { recursive: true })
  return { ...claudeEnv(model, home), [MARKER_VARIABLE]: world.marker }
}

function codex(model: ScriptedModel, home: string): CodexHarness {
  const { environment: own, ...config } = world.codexConfig(model)
  const codexHome = join(home, '.codex')
  mkdirSync(join(home, 'tmp'), { recursive: true })
  mkdirSync(codexHome, { recursive: true })
  const moved = { HOME: home, CODEX_HOME: codexHome, TMPDIR: join(home, 'tmp') }
  return new CodexHarness({ ...config, environment: { ...own, ...moved } })
}

const bash: Agent['command'] = command => ({ tool: 'Bash', input: { command, description: 'x' } })
const AGENTS: [string, Agent][] = [
  [
    'Claude Code',
    {
      make: (model, home) =>
        new ClaudeCodeHarness({ binaryPath: claudeBinary(), environment: environment(model, home) }),
      command: bash,
    },
  ],
  ['Codex', { make: codex, command: cmd => ({ tool: 'exec_command', input: { cmd } }) }],
  [
    'the Messages API',
    {
      make: (model, home) => new MessagesApiHarness({ environment: environment(model, home) }),
      command: command => ({ tool: 'bash', input: { command } }),
    },
  ],
]

async function say(session: LiveSession, message: string): Promise<void> {
  // Claude Code does not skip permissions as root, and Codex writes nothing while it must not ask.
  const isCodex = session.stored.harness === 'codex'
  await session.start(
    message,
    isCodex
      ? { permissionMode: 'bypassPermissions' }
      : { permissionMode: 'dontAsk', autoApproveTools: ['Bash', 'bash'] },
  )
  await session.settled()
}

async function move(id: string, from: SessionHost, to: SessionHost, options: { root: string; name: string }) {
  const folder = join(world.root, `parcel-${options.name}`)
  mkdirSync(folder)
  const details = { id: `move-${options.name}`, from: 'one', to: 'two' }
  const parcel = await from.moves.pack(id, { move: details, haves: [], folder })
  return { parcel, arrive: () => to.moves.receive(options.root, parcel) }
}

test.each(AGENTS)(
  '%s: a session that moves to another machine goes on with its conversation and its files',
  async (_name, { make, command }) => {
    const model = await world.model({
      answers: [
        command('echo heron > bird.txt; echo secret > .env'),
        'I noted the heron.',
        'On with it.',
        'Home.',
      ],
    })
    const agent = make(model, join(world.root, 'home-one'))
    const one = world.host([agent])
    const two = world.host([make(model, join(world.root, 'home-two'))], {
      home: join(world.root, 'data-two'),
    })
    const { id } = await one.createSession(world.project, { harness: agent.id })
    await say(await one.session(id), 'The first bird is a heron.')
    const before = await one.store.resume(id)

    const { parcel, arrive } = await move(id, one, two, { root: there, name: 'a' })
    // Nothing begins here while it is on its way, also in the next server.
    await expect((await one.session(id)).start('Too late.', {})).rejects.toMatchObject({ code: 'busy' })
    await arrive()
    // The answer of the other machine was lost: it is asked again.
    const arrived = await two.moves.receive(there, parcel)
    await one.moves.leave(id, 'move-a')
    expect(await one.store.get(id)).toBeUndefined()
    expect(arrived).toMatchObject({ id, title: before.title, costUsd: before.costUsd, turnCount: 1 })

    const session = await two.session(id)
    const folder = session.status.worktree?.folder ?? ''
    expect(readFileSync(join(folder, 'bird.txt'), 'utf8')).toBe('heron\n')
    expect(() => readFileSync(join(folder, '.env'))).toThrow()
    const asked = model.requests.length
    await say(session, 'Which bird?')
    const [body = ''] = bodiesAfter(model, asked)
    expect(body.split('The first bird is a heron.')).toHaveLength(2)
    expect(body).toContain('I noted the heron.')
    expect(body).toContain('You now run on another machine')
    expect(eventsOf(session).filter(({ type }) => type === 'session:error')).toEqual([])
    const notices = eventsOf(session).flatMap(event => (event.type === 'status' ? [event.message] : []))
    expect(notices.filter(text => text.startsWith('Moved from one to two.'))).toHaveLength(1)

    // And back, though the first machine still has the files of the earlier conversation.
    writeFileSync(join(folder, 'bird.txt'), 'pelican\n')
    const back = await move(id, two, one, { root: world.project, name: 'b' })
    await back.arrive()
    await two.moves.leave(id, 'move-b')
    const home = await one.session(id)
    expect(readFileSync(join(home.status.worktree?.folder ?? '', 'bird.txt'), 'utf8')).toBe('pelican\n')
    expect(readFileSync(join(world.project, 'bird.txt'), 'utf8')).toBe('heron\n')
    const later = model.requests.length
    await say(home, 'And here?')
    expect(bodiesAfter(model, later)[0]).toContain('On with it.')
  },
)

function messagesApi(model: ScriptedModel, name: string): MessagesApiHarness {
  return new MessagesApiHarness({ environment: environment(model, join(world.root, name)) })
}

test('a session that is taken over with a copy from before its first turn goes on with a written account', async () => {
  const model = await world.model({ answers: ['I noted the heron.', 'It is a heron.'] })
  const agent = messagesApi(model, 'home-one')
  const one = world.host([agent])
  const two = world.host([messagesApi(model, 'home-two')], { home: join(world.root, 'data-two') })
  const { id } = await one.createSession(world.project, { harness: agent.id })
  const details = { id: 'move-a', from: 'one', to: 'two' }
  const parcel = await one.moves.copy(id, { move: details, haves: [], folder: world.root })
  expect(parcel.session.turnCount).toBe(0)
  await say(await one.session(id), 'The first bird is a heron.')

  await two.moves.receive(there, parcel)
  const session = await two.session(id)
  const notices = eventsOf(session).flatMap(event => (event.type === 'status' ? [event.message] : []))
  expect(notices.filter(text => text.includes('a new one with a written account'))).toHaveLength(1)
  const asked = model.requests.length
  await say(session, 'Which bird?')
  expect(bodiesAfter(model, asked)[0]).toContain('I noted the heron.')
})

test('a move that is given up while it waits for the folder packs nothing, and the session goes on', async () => {
  const model = await world.model({ answers: ['Hello.', 'On with it.'] })
  const agent = messagesApi(model, 'home-one')
  const one = world.host([agent])
  const { id } = await one.createSession(world.project, { harness: agent.id })
  const session = await one.session(id)
  await say(session, 'Hi.')
  /** Holds the folder, as a review does. */
  const hold = () => {
    let free: () => void = () => {}
    const isFree = new Promise<void>(resolve => {
      free = resolve
    })
    void one.changes.hold(
      [world.project],
      () => {},
      () => isFree,
    )
    return free
  }
  for (const how of ['kept', 'stopped'] as const) {
    const free = hold()
    const stop = new AbortController()
    const folder = join(world.root, `parcel-${how}`)
    mkdirSync(folder)
    const details = { id: `move-${how}`, from: 'one', to: 'two' }
    const packed = one.moves.pack(id, { move: details, haves: [], folder, signal: stop.signal })
    const refused = expect(packed).rejects.toMatchObject(
      how === 'kept'
        ? { code: 'busy', message: expect.stringContaining('given up') }
        : { name: 'AbortError' },
    )
    // From then on it waits for the folder.
    await expect.poll(() => one.moves.leaving(id)).toBeDefined()
    if (how === 'kept') one.moves.keep(id, details.id)
    else stop.abort()
    free()
    await refused
    expect(readdirSync(folder)).toEqual([])
    expect(one.moves.leaving(id)).toBeUndefined()
  }
  await say(session, 'Go on.')
  expect(model.requests).toHaveLength(2)
})
