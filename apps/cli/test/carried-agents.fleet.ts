import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Envelope, PermissionRequestEvent } from '@chirality/core'
import { acpAdapter, claudeBinaries, claudeBinary, codexBinary } from '@chirality/fixtures'
import { expect, test } from 'vitest'
import {
  call,
  change,
  cloneProject,
  type Machine,
  type Own,
  type Server,
  startHub,
  startWorker,
} from './support/fleet.ts'
import { findMarked } from './support/processes.ts'
import { createWorld, type World } from './support/world.ts'

type Answer = Record<string, unknown>

/** How a model makes an agent do something. */
interface Agent {
  harness: string
  /** Runs without a question. */
  command(shell: string): Answer
  free: object
  /** Asks a person. Absent: it cannot ask, and is at work for as long as its model is silent. */
  question?: Answer
  /** Its own conversation does not come along. */
  isTold?: true
}

const bash = (command: string): Answer => ({ tool: 'Bash', input: { command, description: 'x' } })
const QUESTION: Answer = {
  tool: 'AskUserQuestion',
  input: {
    questions: [
      {
        ...{ question: 'Which pelican?', header: 'Choose', multiSelect: false },
        options: ['The white one', 'The brown one'].map(label => ({ label, description: label })),
      },
    ],
  },
}
// Claude Code does not skip permissions as root.
const ALLOWED = { permissionMode: 'dontAsk', autoApproveTools: ['Bash', 'bash'] }

const CLAUDE: Agent = { harness: 'claude-code', command: bash, free: ALLOWED, question: QUESTION }
const CODEX_EXEC: Agent = {
  harness: 'codex',
  command: cmd => ({ tool: 'exec_command', input: { cmd } }),
  free: { permissionMode: 'bypassPermissions' },
}
const CODEX: Agent = {
  ...CODEX_EXEC,
  question: {
    tool: 'exec_command',
    input: { cmd: 'touch pelican', sandbox_permissions: 'require_escalated', justification: 'x' },
  },
}
const SDK: Agent = { ...CLAUDE, harness: 'agent-sdk' }
const MESSAGES: Agent = {
  ...CLAUDE,
  harness: 'messages-api',
  command: command => ({ tool: 'bash', input: { command } }),
}
const ACP: Agent = {
  ...CLAUDE,
  harness: 'acp-adapter',
  free: {},
  question: bash('touch pelican'),
  isTold: true,
}

const [{ path: OLDER = '' } = {}] = claudeBinaries()
const NEWER = claudeBinary()

/** A Codex without an app-server: every turn is one `exec`. */
function execCodex({ home }: World): string {
  const file = path.join(home, 'codex-exec')
  const { path: codex } = codexBinary()
  const script = `#!/bin/sh\nfor arg; do [ "$arg" = app-server ] && exit 1; done\nexec ${codex} "$@"\n`
  writeFileSync(file, script, { mode: 0o755 })
  return file
}

interface Releases {
  claude: string
  voice: 'app-server' | 'exec'
}
const OLD: Releases = { claude: OLDER, voice: 'exec' }
const NEW: Releases = { claude: NEWER, voice: 'app-server' }

/** A machine with a HOME of its own: its agents know nothing of the conversations of others. */
function machineOf(world: World, name: string, { claude, voice }: Releases): Own & { env: { HOME: string } } {
  const home = path.join(world.home, name)
  mkdirSync(path.join(home, 'tmp'), { recursive: true })
  const env = { HOME: home, TMPDIR: path.join(home, 'tmp'), CLAUDE_CONFIG_DIR: path.join(home, '.claude') }
  const codex: Record<string, string> = voice === 'exec' ? { CHIRALITY_CODEX_BIN: execCodex(world) } : {}
  const adapter = {
    ...{ name: 'adapter', command: acpAdapter('claude-agent-acp'), args: [] },
    env: ['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', 'CLAUDE_CONFIG_DIR', 'CLAUDE_CODE_EXECUTABLE'],
  }
  return {
    env: { ...env, ...codex, CHIRALITY_CLAUDE_BIN: claude, CLAUDE_CODE_EXECUTABLE: NEWER },
    agents: [adapter],
  }
}

const CASES: { name: string; from: Releases; to: Releases; agents: Agent[] }[] = [
  {
    ...{ name: 'the newest releases, every agent', from: NEW, to: NEW },
    agents: [ACP, MESSAGES, CODEX, CLAUDE, SDK],
  },
  { ...{ name: 'older Claude Code, Codex exec', from: OLD, to: OLD }, agents: [CLAUDE, CODEX_EXEC] },
  { ...{ name: 'from older to newer', from: OLD, to: NEW }, agents: [CLAUDE, CODEX_EXEC] },
  { ...{ name: 'from newer to older', from: NEW, to: OLD }, agents: [CLAUDE, CODEX] },
]

test('the older and the newer Claude Code are two releases', async () => {
  const { env } = await createWorld()
  const versions = [OLDER, NEWER].map(program =>
    execFileSync(program, ['--version'], { env, encoding: 'utf8' }).trim(),
  )
  expect(versions).toEqual(claudeBinaries().map(({ version }) => expect.stringContaining(version)))
  expect(new Set(versions).size).toBe(2)
}, 60_000)

test.each(CASES)(
  'conversation, tool result, files, queue and question come along by a move and by a takeover: $name',
  async ({ from, to, agents }) => {
    const kinds = ['moved', 'taken'] as const
    const world = await createWorld({
      answers: [],
      otherwise: 'ok',
      routes: [TITLES, ...agents.flatMap(agent => kinds.map(kind => routeOf(agent, kind)))],
    })
    const [clone = ''] = cloneProject(world)
    const hub = await startHub(world, [clone], machineOf(world, 'at-hub', to))
    const own = machineOf(world, 'at-worker', from)
    const worker = await startWorker(world, hub, { name: 'worker', projects: [world.project], ...own })

    for (const agent of agents) await moves(world, { hub, worker }, agent)
    const left = []
    for (const agent of agents) left.push(await leavesOff(world, { hub, worker }, agent))
    // The machine with all that runs on it.
    for (const { pid } of findMarked(`HOME=${own.env.HOME}`)) process.kill(pid, 'SIGKILL')
    await worker.command.result()
    const stateOf = async () =>
      (await call<{ machine: string; state: string }[]>(hub, 'fleet.machines')).find(
        ({ machine }) => machine === 'worker',
      )?.state
    await expect.poll(stateOf, { timeout: 120_000 }).toBe('away')
    for (const [index, agent] of agents.entries()) await isTakenOver(world, hub, agent, left[index] ?? '')
    hub.command.signal('SIGINT')
    expect((await hub.command.result()).code).toBe(0)
  },
  900_000,
)

/** An agent asks for the title of a conversation when it likes, with all that was said. */
const TITLES = { when: { lastUserContains: 'Write the title in' }, answers: [], otherwise: 'A title' }

const word = ({ harness }: Agent, kind: 'moved' | 'taken') => `BIRD-${kind}-${harness}`

/** Claude Code tells its model the names of new files, so that it is another word. */
const fileOf = ({ harness }: Agent, kind: 'moved' | 'taken') => `file-${kind}-${harness}.txt`

function routeOf(agent: Agent, kind: 'moved' | 'taken') {
  const name = word(agent, kind)
  const first = [
    {
      text: 'I write it down.',
      ...agent.command(`echo ${name} > ${fileOf(agent, kind)}; echo result-of-${name}`),
    },
    `I noted ${name}.`,
  ]
  const second =
    kind === 'taken' && agent.question !== undefined
      ? { text: 'I have to ask.', ...agent.question }
      : { text: 'This takes its time.', stallAfter: 0 }
  return {
    when: { conversationContains: name },
    answers: [...first, second, `On with ${name}.`],
    otherwise: 'ok',
  }
}

/** The first turn: a tool call, and a file that git does not know. */
async function begins(server: Server, agent: Agent, { project, name }: Record<'project' | 'name', string>) {
  const { harness, free } = agent
  const { id } = await change<{ id: string }>(server, 'sessions.create', { project, harness })
  await change(server, 'turns.start', { sessionId: id, message: `Note the ${name}.`, options: free })
  await expect
    .poll(
      async () => {
        // Whatever it asks about: it may.
        for (const {
          sessionId,
          request: { requestId },
        } of await pending(server, id))
          await change(server, 'decisions.answer', { sessionId, requestId, decision: { behavior: 'allow' } })
        return phase(server, id)
      },
      { timeout: 240_000 },
    )
    .toBe('idle')
  expect((await texts(server, id)).at(-1)).toBe(`I noted ${name}.`)
  return id
}

const pending = (server: Server, sessionId: string) =>
  call<{ sessionId: string; request: { requestId: string } }[]>(server, 'decisions.pending', { sessionId })

async function moves(world: World, { hub, worker }: Record<'hub' | 'worker', Machine>, agent: Agent) {
  const name = word(agent, 'moved')
  const id = await begins(worker, agent, { project: world.project, name })
  await waits(world, worker, { agent, id })
  await change(worker, 'turns.queue.hold', { sessionId: id })
  world.model.release()
  await expect.poll(() => phase(worker, id), { timeout: 240_000 }).toBe('idle')
  await expect.poll(() => phase(hub, id)).toBe('idle')

  await change(hub, 'fleet.move', { sessionId: id, to: 'hub' })
  const asked = world.model.requests.length
  await change(hub, 'turns.start', { sessionId: id, message: 'Which one was it?', options: agent.free })
  await knows(world, { asked, name, says: 'Which one was it?' })
  await expect.poll(() => phase(hub, id), { timeout: 240_000 }).toBe('idle')
  const notice = (await notices(hub, id)).find(text => text.startsWith('Moved from worker to hub.'))
  expect(notice).toContain('Files that git ignores, such as .env')
  await hasAll(hub, { id, agent, kind: 'moved', notice: notice ?? '' })
}

/** Brings a session to where its agent waits for an answer, or for its model, with a message in its queue. */
async function leavesOff(world: World, { hub, worker }: Record<'hub' | 'worker', Machine>, agent: Agent) {
  const name = word(agent, 'taken')
  const id = await begins(worker, agent, { project: world.project, name })
  await expect.poll(() => copiedUpTo(hub, id), { timeout: 120_000 }).toBe(await lastSeq(worker, id))
  await waits(world, worker, { agent, id })
  // What the hub knows when the machine is gone.
  const heard = () => {
    const file = path.join(hub.home, 'fleet', 'mirrors', 'worker', 'states', `${id}.json`)
    return (JSON.parse(readFileSync(file, 'utf8')) as { status: { queue: unknown[] } | null }).status?.queue
      .length
  }
  await expect.poll(heard).toBe(1)
  return id
}

async function waits(world: World, server: Server, { agent, id }: { agent: Agent; id: string }) {
  const asked = world.model.requests.length
  const isAsking = agent.question !== undefined && (await texts(server, id)).at(-1)?.includes('taken')
  const options = isAsking ? { permissionMode: 'default' } : agent.free
  await change(server, 'turns.start', { sessionId: id, message: 'Now the pelican.', options })
  if (isAsking) await expect.poll(() => pending(server, id), { timeout: 240_000 }).toHaveLength(1)
  else
    await world.model.waitForRequest(
      request => request.state === 'stalled' && world.model.requests.indexOf(request) >= asked,
    )
  await change(server, 'turns.send', { sessionId: id, message: 'Then the stork.' })
}

async function isTakenOver(world: World, hub: Machine, agent: Agent, id: string) {
  const name = word(agent, 'taken')
  const asked = world.model.requests.length
  const taken = await change(hub, 'fleet.takeover', { sessionId: id, to: 'hub' })
  expect(taken).toMatchObject({ asked: true, problem: null })
  const body = await knows(world, { asked, name, says: 'Go on with' })
  expect(body).toContain('Now the pelican.')
  await expect.poll(async () => (await texts(hub, id)).at(-1), { timeout: 240_000 }).toBe(`On with ${name}.`)
  const notice = (await notices(hub, id)).find(text => text.startsWith('Taken over by hub'))
  expect(notice).toContain('because worker is gone')
  await hasAll(hub, { id, agent, kind: 'taken', notice: notice ?? '' })
  if (agent.question === undefined) return
  // The question is not open any more, and it is said what it was.
  const events = await history(hub, id)
  const requests = events.filter(
    (event): event is PermissionRequestEvent => event.type === 'permission:request',
  )
  const request = requests.at(-1)
  expect(events).toContainEqual(
    expect.objectContaining({
      type: 'permission:resolved',
      requestId: request?.requestId,
      outcome: 'cancelled',
    }),
  )
  expect(await pending(hub, id)).toEqual([])
  expect(notice).toMatch(/The agent waited for an answer, which nobody gave: Asks for .*pelican/)
  expect(body).toMatch(/You waited there for an answer \(Asks for .*pelican/)
}

/** The model is asked with what was said and done on the other machine. */
async function knows(world: World, { asked, name, says }: { asked: number; name: string; says: string }) {
  const request = await world.model.waitForRequest(one => {
    const body = JSON.stringify(one.body) ?? ''
    const isMain = world.model.requests.indexOf(one) >= asked && !one.served.startsWith('routes[0]')
    return isMain && body.includes(says) && body.includes(name)
  })
  const body = JSON.stringify(request.body)
  for (const text of [`Note the ${name}.`, `result-of-${name}`, `I noted ${name}.`])
    expect(body).toContain(text)
  return body
}

async function hasAll(
  hub: Machine,
  { id, agent, kind, notice }: { id: string; agent: Agent; kind: 'moved' | 'taken'; notice: string },
) {
  const name = word(agent, kind)
  const { worktree } = await call<{ worktree: string }>(hub, 'sessions.get', { sessionId: id })
  const folder = path.join(hub.home, 'worktrees', worktree, 'project')
  expect(readFileSync(path.join(folder, fileOf(agent, kind)), 'utf8')).toBe(`${name}\n`)
  const queue = await call<{ messages: { message: string }[]; held: boolean }>(hub, 'turns.queue.list', {
    sessionId: id,
  })
  expect(queue).toMatchObject({ messages: [{ message: 'Then the stork.' }], held: true })
  expect(notice.includes('begins a new one with a written account of what is above')).toBe(
    agent.isTold === true,
  )
  // The turn that was cut off ended with one.
  const errors = (await history(hub, id)).filter(({ type }) => type === 'session:error')
  if (kind === 'moved') expect(errors).toEqual([])
}

async function history(server: Server, sessionId: string) {
  const events = await call<Envelope[]>(server, 'sessions.history', { sessionId }).catch(() => [])
  return events.map(({ event }) => event)
}

const texts = async (server: Server, id: string) =>
  (await history(server, id)).flatMap(event => (event.type === 'chat:message' ? [event.text] : []))

const notices = async (server: Server, id: string) =>
  (await history(server, id)).flatMap(event => (event.type === 'status' ? [event.message] : []))

const phase = async (server: Server, sessionId: string) =>
  (await call<{ status: string }>(server, 'sessions.get', { sessionId })).status

const lastSeq = async (server: Server, sessionId: string) =>
  (await call<{ lastSeq: number }>(server, 'sessions.get', { sessionId })).lastSeq

function copiedUpTo(hub: Machine, id: string): number | undefined {
  try {
    const file = path.join(hub.home, 'fleet', 'copies', 'worker', `${id}.json`)
    return (JSON.parse(readFileSync(file, 'utf8')) as { seq: number }).seq
  } catch {
    return undefined
  }
}
