import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createClaudeTranslator, NdjsonFramer, type SessionHarness, type UIEvent } from '@chirality/core'
import { acpAdapter, claudeBinary } from '@chirality/fixtures'
import { type AcpAgentSpec, acpDescriptor, findByMarker, MessagesApiHarness } from '@chirality/runner'
import { AgentSdkHarness } from '@chirality/runner/agent-sdk'
import type { ScriptedModel } from '@chirality/scripted-model'
import { type EndingTurn, TurnChanges } from '@chirality/workspaces'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isAside } from '../../src/recovery/match-events.ts'
import type { HostProgramOptions } from '../programs/host-program.ts'
import { bundleHostProgram, HostProgram } from '../support/host-program.ts'
import { eventsOf, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()
let program: Awaited<ReturnType<typeof bundleHostProgram>>
beforeAll(async () => {
  program = await bundleHostProgram()
})
afterAll(() => program.remove())

async function newSession(): Promise<string> {
  const host = world.host([])
  const { id } = await host.createSession(world.project)
  await host.close()
  return id
}

function launch(
  sessionId: string,
  model: ScriptedModel,
  more: { keepAlive: boolean; message?: string; until?: 'leave'; allow?: string[] },
) {
  return new HostProgram(program.file, {
    project: world.project,
    data: world.data,
    sessionId,
    binary: claudeBinary(),
    environment: world.environment(model),
    allow: ['Bash'],
    ...more,
  })
}

/** What the raw log says happened, by the same translator. */
function spooled(sessionId: string): UIEvent[] {
  const folder = world.file('logs', 'claude-code')
  const spools = readdirSync(folder).filter(name => name.endsWith('.ndjson') && name.includes(sessionId))
  expect(spools).toHaveLength(1)
  const translator = createClaudeTranslator({ sessionId })
  const framer = new NdjsonFramer()
  const bytes = readFileSync(`${folder}/${spools[0]}`)
  const records = [...framer.push(bytes), ...framer.end()]
  return [...records.flatMap(record => translator.translateRecord(record)), ...translator.end()]
}

/** Keeps of each turn that ends in its host whether the agent may have come to rest before. */
class LateEnds extends TurnChanges {
  readonly ended: boolean[] = []

  override async end({ isLate }: EndingTurn): Promise<undefined> {
    this.ended.push(isLate)
  }
}

/** Texts joined, and without what only hosts and harnesses say: what must be in log and spool alike. */
function said(events: UIEvent[]): unknown[] {
  const all: unknown[] = []
  let open: { id: string; text: string } | undefined
  for (const event of events) {
    if (isAside(event) || HOST_EVENTS.has(event.type)) continue
    const piece = pieceOf(event)
    if (piece !== undefined && open?.id === piece.id) open.text += piece.text
    // The host adds what it thinks it cost; the agent says no such thing.
    else all.push(piece ?? JSON.parse(JSON.stringify({ ...event, estimateUsd: undefined })))
    open = piece === undefined ? undefined : (all.at(-1) as { id: string; text: string })
  }
  return all
}

const HOST_EVENTS = new Set(['turn:start', 'turn:end', 'process:exit', 'permission:request'])

function pieceOf(event: UIEvent): { id: string; text: string } | undefined {
  if (event.type === 'chat:delta') return { id: `text ${event.messageId}`, text: event.text }
  if (event.type === 'chat:thinking' && !event.final)
    return { id: `thinking ${event.messageId}`, text: event.text }
  if (event.type === 'tool:input' && event.delta !== undefined)
    return { id: `input ${event.toolUseId}`, text: event.delta }
  return undefined
}

const SCRIPT = {
  answers: [
    { text: 'I look at the folder first.', chunkChars: 3, tool: 'Bash', input: { command: 'echo hello' } },
    { text: 'That was that, and now I am done.', chunkChars: 3 },
  ],
}

describe.each([
  ['a process of its own', false],
  ['a process that is kept', true],
])('Claude Code in %s', (_name, keepAlive) => {
  test('the host is killed, the agent finishes alone, and the log has every event once', async () => {
    const [first, second] = SCRIPT.answers
    const model = await world.model({ answers: [{ ...first, stallAfter: 4 }, ...(second ? [second] : [])] })
    const id = await newSession()
    const killed = launch(id, model, { keepAlive, message: 'Go' })
    await killed.until(line => 'sent' in line)
    await model.waitForRequest(request => request.state === 'stalled')
    expect(await killed.kill()).toBe('SIGKILL')
    model.release()
    // One of its own works to the end and exits; one that is kept loses its input, finishes, and exits then.
    while ((await findByMarker(world.marker)).length > 0)
      await new Promise(resolve => setTimeout(resolve, 20))

    const changes = new LateEnds()
    const { ended } = changes
    const host = world.host([world.claude(model, { keepAlive })], { changes })
    const report = await host.openProject(world.project)
    expect(report).toMatchObject({ adopted: [id], closed: [], problems: [] })
    const session = await host.session(id)
    await session.settled()
    // What happened to the files since then is not known.
    expect(ended).toEqual([true])
    const events = eventsOf(session)
    expect(events.filter(({ type }) => type === 'turn:start')).toHaveLength(1)
    expect(events.filter(({ type }) => type === 'turn:end')).toMatchObject([{ reason: 'completed' }])
    expect(said(events)).toEqual(said(spooled(id)))
    expect(session.status).toMatchObject({ phase: 'idle', lastTurn: 'completed' })
    expect(readdirSync(world.file('state', 'turns'))).toEqual([])
  })

  test('the host is killed while the agent writes: the next host gets the rest, live', async () => {
    const [first, second] = SCRIPT.answers
    const model = await world.model({
      answers: [{ ...first, stallAfter: 4 }, ...(second ? [{ ...second, stallAfter: 3 }] : [])],
    })
    const id = await newSession()
    const killed = launch(id, model, { keepAlive, message: 'Go' })
    await killed.until(line => 'sent' in line)
    await model.waitForRequest(request => request.state === 'stalled')
    await killed.kill()

    const changes = new LateEnds()
    const { ended } = changes
    const host = world.host([world.claude(model, { keepAlive })], { changes })
    expect((await host.openProject(world.project)).adopted).toEqual([id])
    const session = await host.session(id)
    expect(session.status).toMatchObject({ phase: 'running' })
    model.release()
    await model.waitForRequest(request => request.served === 'answers[1]' && request.state === 'stalled')
    expect(session.status).toMatchObject({ phase: 'running' })
    model.release()
    await session.settled()
    const events = eventsOf(session)
    expect(events.filter(({ type }) => type === 'turn:end')).toMatchObject([{ reason: 'completed' }])
    expect(said(events)).toEqual(said(spooled(id)))
    expect(ended).toEqual([false])
  })

  test('a turn that was found again can be interrupted', async () => {
    const model = await world.model({ answers: [{ text: 'Never ending.', chunkChars: 3, stallAfter: 2 }] })
    const id = await newSession()
    const killed = launch(id, model, { keepAlive, message: 'Go' })
    await killed.until(line => 'sent' in line)
    await model.waitForRequest(request => request.state === 'stalled')
    await killed.kill()
    const host = world.host([world.claude(model, { keepAlive })])
    await host.openProject(world.project)
    const session = await host.session(id)
    session.interrupt()
    await session.settled()
    expect(session.status).toMatchObject({ phase: 'idle', lastTurn: 'interrupted' })
    expect(await findByMarker(world.marker)).toEqual([])
  })
})

test('a host that leaves its agents at work: the next one goes on with them', async () => {
  const model = await world.model({ answers: [{ text: 'Slow and steady.', chunkChars: 3, stallAfter: 2 }] })
  const id = await newSession()
  const leaving = launch(id, model, { keepAlive: false, message: 'Go', until: 'leave' })
  expect(await leaving.exited).toBe(0)
  expect(await findByMarker(world.marker)).not.toEqual([])
  await model.waitForRequest(request => request.state === 'stalled')
  const host = world.host([world.claude(model, { keepAlive: false })])
  expect((await host.openProject(world.project)).adopted).toEqual([id])
  const session = await host.session(id)
  model.release()
  await session.settled()
  expect(session.status.lastTurn).toBe('completed')
  expect(said(eventsOf(session))).toEqual(said(spooled(id)))
})

test('the host is killed while a request waits: the log notes the missing answer, and the next turn clears it', async () => {
  const model = await world.model({
    answers: [{ tool: 'Bash', input: { command: "sh -c ': > made'" } }, 'The plan is done.', 'Next.'],
  })
  const id = await newSession()
  const killed = launch(id, model, { keepAlive: true, message: 'Go', allow: [] })
  await killed.until(line => line.pending === 1)
  await killed.kill()
  while ((await findByMarker(world.marker)).length > 0) await new Promise(resolve => setTimeout(resolve, 20))

  const host = world.host([world.claude(model, { keepAlive: true })])
  expect((await host.openProject(world.project)).adopted).toEqual([id])
  const session = await host.session(id)
  await session.settled()
  const events = eventsOf(session)
  expect(events.filter(({ type }) => type === 'permission:resolved')).toMatchObject([
    { outcome: 'cancelled', by: 'failure' },
  ])
  const told = events.findIndex(event => event.type === 'status' && event.data?.wentOnUnanswered === true)
  expect(events[told]).toMatchObject({
    level: 'warn',
    message: expect.stringMatching(/Asks for Bash sh -c ': > made'.*nobody could.*went on without it/),
  })
  expect(told).toBeLessThan(events.findIndex(({ type }) => type === 'tool:result'))
  expect(session.status).toMatchObject({ lastTurn: 'completed', leftUnanswered: true, pending: [] })
  await session.start('And now?')
  await session.settled()
  expect(session.status.leftUnanswered).toBe(false)
})

interface Asking {
  harness(model: ScriptedModel): SessionHarness | Promise<SessionHarness>
  options(
    model: ScriptedModel,
  ): Pick<HostProgramOptions, 'binary' | 'environment'> & Partial<HostProgramOptions>
  /** An answer that wants to make a file, and so has to ask. */
  asks: { tool: string; input: Record<string, unknown> }
  /** Whether the agent itself outlives its host for long enough to go on. */
  goesOn: boolean
  /** The next message asks about the same call first. */
  asksAgain?: boolean
}

/** An adapter of Claude Code, as a user would configure it. */
const ADAPTER: AcpAgentSpec = {
  name: 'adapter',
  command: acpAdapter('claude-agent-acp'),
  args: [],
  env: ['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', 'CLAUDE_CONFIG_DIR', 'CLAUDE_CODE_EXECUTABLE'],
}

function adapterEnvironment(model: ScriptedModel): Record<string, string> {
  return { ...world.environment(model), CLAUDE_CODE_EXECUTABLE: claudeBinary() }
}

const MADE = 'made'

const ASKING: [string, Asking][] = [
  [
    'Codex',
    {
      harness: model => world.codex(model),
      options: model => {
        const { binaryPath: binary, environment, ...codex } = world.codexConfig(model)
        return { binary, environment, codex }
      },
      asks: {
        tool: 'exec_command',
        input: { cmd: `touch ${MADE}`, sandbox_permissions: 'require_escalated', justification: 'x' },
      },
      goesOn: false,
    },
  ],
  [
    'the Agent SDK',
    {
      harness: model =>
        new AgentSdkHarness({ binaryPath: claudeBinary(), environment: world.environment(model) }),
      options: model => ({ binary: claudeBinary(), environment: world.environment(model), sdk: true }),
      asks: { tool: 'Bash', input: { command: `touch ${MADE}`, description: 'x' } },
      goesOn: true,
    },
  ],
  [
    'the Messages API',
    {
      harness: model => new MessagesApiHarness({ environment: world.environment(model) }),
      options: model => ({ binary: '', environment: world.environment(model), messagesApi: true }),
      asks: { tool: 'bash', input: { command: `touch ${MADE}` } },
      goesOn: false,
      asksAgain: true,
    },
  ],
  [
    'an agent of the Agent Client Protocol',
    {
      harness: model => acpDescriptor(ADAPTER).create({ environment: adapterEnvironment(model) }),
      options: model => ({ binary: '', environment: adapterEnvironment(model), acp: ADAPTER }),
      asks: { tool: 'Bash', input: { command: `touch ${MADE}`, description: 'x' } },
      goesOn: false,
    },
  ],
]

test.each(ASKING)(
  '%s, and the host is killed while a request waits: it is told, nothing was run, and the next message works',
  async (_name, { harness, options, asks, goesOn, asksAgain = false }) => {
    const model = await world.model({ answers: [asks, 'After it.', 'And then.'] })
    const first = world.host([await harness(model)])
    const { id } = await first.createSession(world.project)
    await first.close()
    const killed = new HostProgram(program.file, {
      project: world.project,
      data: world.data,
      sessionId: id,
      keepAlive: true,
      message: 'Go',
      ...options(model),
    })
    await killed.until(line => line.pending === 1)
    await killed.kill()
    while ((await findByMarker(world.marker)).length > 0)
      await new Promise(resolve => setTimeout(resolve, 20))

    const host = world.host([await harness(model)])
    await host.openProject(world.project)
    const session = await host.session(id)
    await session.settled()
    const events = eventsOf(session)
    expect(events.filter(({ type }) => type === 'permission:request')).toHaveLength(1)
    expect(events.filter(({ type }) => type === 'permission:resolved')).toMatchObject([
      { outcome: 'cancelled' },
    ])
    const told = events.flatMap(event =>
      event.type === 'status' && event.message.includes('nobody could give one') ? [event.message] : [],
    )
    expect(told).toHaveLength(1)
    expect(told[0]).toContain(MADE)
    expect(told[0]).toContain(
      goesOn ? 'went on without it' : 'The call was not made, and the agent stopped there.',
    )
    expect(events.filter(({ type }) => type === 'turn:end')).toMatchObject([
      { reason: goesOn ? 'completed' : 'crashed' },
    ])
    expect(session.status).toMatchObject({ leftUnanswered: true, pending: [], phase: 'idle' })
    expect(existsSync(`${world.project}/${MADE}`)).toBe(false)

    let again = 0
    host.decisions.onChange(() => {
      for (const { request } of host.decisions.pending()) {
        again += 1
        expect(JSON.stringify(request.input)).toContain(MADE)
        host.decisions.answer(id, request.requestId, { behavior: 'deny' })
      }
    })
    await session.start('And now?')
    await session.settled()
    expect(session.status).toMatchObject({ lastTurn: 'completed', leftUnanswered: false })
    expect(existsSync(`${world.project}/${MADE}`)).toBe(false)
    expect(again).toBe(asksAgain ? 1 : 0)
    // An agent that stopped there is told what it asked, unless it has asked again: the call was denied then.
    const asked = model.requests.findLast(({ body }) => JSON.stringify(body).includes('And now?'))
    const isTold = !goesOn && !asksAgain
    expect(JSON.stringify(asked?.body).includes('while you waited for an answer')).toBe(isTold)
    expect(JSON.stringify(asked?.body).includes('make it again')).toBe(isTold)
  },
)
