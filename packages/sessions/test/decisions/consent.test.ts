import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SessionHarness, UIEvent } from '@chirality/core'
import { claudeBinary, codexBinary } from '@chirality/fixtures'
import { CodexHarness, MessagesApiHarness } from '@chirality/runner'
import { AgentSdkHarness } from '@chirality/runner/agent-sdk'
import { codexArgs, type ScriptBlock, type ScriptedModel } from '@chirality/scripted-model'
import { type LiveSession, PolicyBook, type SessionHost, type TurnRequest } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { eventsOf, untilEvent, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()

interface Agent {
  name: string
  harness(model: ScriptedModel): SessionHarness
  bash(command: string): ScriptBlock
  write(path: string, content: string): ScriptBlock
  free: TurnRequest
}

const CLAUDE: Omit<Agent, 'name' | 'harness'> = {
  bash: command => ({ tool: 'Bash', input: { command, description: 'x' } }),
  write: (path, content) => ({ tool: 'Write', input: { file_path: join(world.project, path), content } }),
  free: { permissionMode: 'bypassPermissions', env: { IS_SANDBOX: '1' } },
}
const AGENTS: Agent[] = [
  { ...CLAUDE, name: 'claude-code', harness: model => world.claude(model, { keepAlive: true }) },
  {
    ...CLAUDE,
    name: 'agent-sdk',
    harness: model =>
      new AgentSdkHarness({ environment: world.environment(model), binaryPath: claudeBinary() }),
  },
  {
    name: 'messages-api',
    harness: model => new MessagesApiHarness({ environment: world.environment(model) }),
    bash: command => ({ tool: 'bash', input: { command } }),
    write: (path, content) => ({ tool: 'write', input: { file_path: path, content } }),
    free: { permissionMode: 'bypassPermissions' },
  },
]

/** Not one of the commands that Claude Code counts among edits. */
const make = (file: string) => `sh -c ': > ${file}'`

const GRANTING = '---\nauto_approve_tools: Bash\npermission_mode: acceptEdits\n---\nHelp.\n'
const PERSONA = 'agents/AGENT_HELP.md'

test.each(AGENTS)(
  '$name: nothing in a project, and nothing an agent writes there, gives it leave',
  async agent => {
    const { bash, write, free } = agent
    put(PERSONA, '---\ndescription: Helps\n---\nHelp.\n')
    put('keep.txt', 'mine')
    denyRm()
    const model = await world.model({
      answers: [
        ...[{ blocks: [write(PERSONA, GRANTING), write('note.txt', 'x')] }, 'Done.'],
        ...[{ blocks: [bash(make('two'))] }, 'Done.'],
        ...[{ blocks: [bash(make('three')), bash('rm keep.txt'), write('four.txt', 'x')] }, 'Done.'],
        ...[{ blocks: [bash('echo x | tee .envrc'), bash('cp note.txt .mcp.json')] }, 'Done.'],
        ...[{ blocks: [bash(make('five'))] }, 'Done.'],
        ...[
          { blocks: [bash(`rm keep.txt; ${make('six')}`), bash('/bin/rm keep.txt'), bash(make('seven'))] },
          'Done.',
        ],
      ],
    })
    const host = world.host([agent.harness(model)])
    const { id } = await host.createSession(world.project, {
      persona: 'HELP',
      mode: 'direct',
      permissionMode: 'acceptEdits',
    })
    const session = await host.session(id)
    // One may edit without asking, but not what decides about asking.
    expect(await asked(host, session, 'One', 'allow')).toEqual(['AGENT_HELP.md'])
    expect([text(PERSONA), text('note.txt')]).toEqual([GRANTING, 'x'])

    // What was written there, even with leave, gives nothing.
    expect(await asked(host, session, 'Two', 'deny')).toEqual([': > two'])
    expect(existsSync(join(world.project, 'two'))).toBe(false)
    expect(notices(session)).toContainEqual(expect.stringContaining('use Bash, edit files without asking'))

    // Allowed by the user: exactly this text, and never over the user's own rule.
    const shown = await host.consent.load(world.project, 'HELP')
    expect(shown).toMatchObject({ grants: ['use Bash', 'edit files'], isAllowed: false })
    expect(await host.consent.allow(world.project, 'HELP', 'another text')).toBe(false)
    expect(await host.consent.allow(world.project, 'HELP', shown?.fingerprint ?? '')).toBe(true)
    expect(await asked(host, session, 'Three', 'deny')).toEqual([])
    expect(['three', 'four.txt', 'keep.txt'].map(name => existsSync(join(world.project, name)))).toEqual([
      ...[true, true, true],
    ])
    // Neither does leave for Bash reach files that run by themselves later.
    expect(await asked(host, session, 'Three and a half', 'deny')).toEqual([
      'tee .envrc',
      'cp note.txt .mcp.json',
    ])
    expect(['.envrc', '.mcp.json'].map(name => existsSync(join(world.project, name)))).toEqual([false, false])

    // Another text is not allowed.
    put(PERSONA, `${GRANTING}More.\n`)
    expect(await asked(host, session, 'Four', 'deny')).toEqual([': > five'])

    // The user's own rule holds with all checks off, too.
    expect(await asked(host, session, 'Five', 'allow', free)).toEqual([])
    expect(text('keep.txt')).toBe('mine')
    expect(['six', 'seven'].map(name => existsSync(join(world.project, name)))).toEqual([false, true])
    const denied = eventsOf(session)
      .filter(({ type }) => type === 'permission:resolved')
      .slice(-2)
    expect(denied).toMatchObject([
      { outcome: 'denied', by: 'policy', rule: expect.stringContaining('deny Bash(rm *)') },
      { outcome: 'denied', by: 'policy' },
    ])
  },
)

test.each(AGENTS.filter(({ name }) => name !== 'agent-sdk'))(
  '$name: the mode after an approved plan stays, after the turn and in the file; one turn’s own mode does not',
  async ({ harness }) => {
    const plan = { tool: 'ExitPlanMode', input: { plan: 'Do it.' } }
    const model = await world.model({ answers: ['Hello.', plan, 'Done.'] })
    const host = world.host([harness(model)])
    const { id } = await host.createSession(world.project, { mode: 'direct', permissionMode: 'plan' })
    const session = await host.session(id)
    const mode = async () => (await host.store.get(id))?.settings.permissionMode
    expect(await asked(host, session, 'Zero', 'allow', { permissionMode: 'acceptEdits' })).toEqual([])
    expect(await mode()).toBe('plan')
    expect(await asked(host, session, 'One', 'allow')).toHaveLength(1)
    await expect.poll(mode).toBe('default')
  },
)

test.each(AGENTS.filter(({ name }) => name !== 'agent-sdk'))(
  '$name: the mode that is chosen while a plan waits is the one after it, for the turn and for the session',
  async ({ harness, write }) => {
    const plan = { tool: 'ExitPlanMode', input: { plan: 'Do it.' } }
    const model = await world.model({ answers: [plan, { blocks: [write('made.txt', 'x')] }, 'Done.'] })
    const host = world.host([harness(model)])
    const { id } = await host.createSession(world.project, { mode: 'direct', permissionMode: 'plan' })
    const session = await host.session(id)
    const seen: string[] = []
    const stop = host.decisions.onChange(() => {
      for (const { request } of host.decisions.pending(id)) {
        if (seen.includes(request.requestId)) continue
        seen.push(request.requestId)
        void session
          .setPermissionMode('acceptEdits')
          .then(() => host.decisions.answer(id, request.requestId, { behavior: 'allow' }))
      }
    })
    await session.start('One')
    await session.settled()
    stop()
    expect(seen).toHaveLength(1)
    expect(text('made.txt')).toBe('x')
    expect((await host.store.get(id))?.settings.permissionMode).toBe('acceptEdits')
  },
)

test('Codex: the user’s own rule holds with all checks off and where edits are free; protected files are asked about without one', async () => {
  const run = (cmd: string) => ({ tool: 'exec_command', input: { cmd } })
  const patch = (file: string) => ({
    tool: 'apply_patch',
    input: `*** Begin Patch\n*** Add File: ${file}\n+new line\n*** End Patch\n`,
  })
  put('keep.txt', 'mine')
  const model = await world.model({
    answers: [
      ...[patch(PERSONA), run('echo x | tee .envrc'), patch('free.txt'), 'Done.'],
      ...[run('rm keep.txt'), run('touch free'), 'Done.'],
      ...[run('rm keep.txt'), patch('patched.txt'), patch(PERSONA), 'Done.'],
    ],
  })
  const { args, env } = codexArgs(model)
  const codex = new CodexHarness({
    binaryPath: codexBinary().path,
    configOverrides: [...args.filter(arg => arg !== '-c'), 'model="gpt-5.5"'],
    allowEnvironment: Object.keys(env),
    environment: { ...world.environment(model), ...env },
  })
  const host = world.host([codex])
  const { id } = await host.createSession(world.project, { mode: 'direct', harness: 'codex' })
  const session = await host.session(id)
  // Without a rule, too, files that decide what agents may do are asked about, and commands, which could write them.
  const free = await asked(host, session, 'Zero', 'deny', { permissionMode: 'acceptEdits' })
  expect(free).toEqual(['AGENT_HELP.md', 'tee .envrc'])
  expect([PERSONA, '.envrc', 'free.txt'].map(name => existsSync(join(world.project, name)))).toEqual([
    ...[false, false, true],
  ])
  denyRm('deny Read(.env)')
  expect(await asked(host, session, 'One', 'allow', { permissionMode: 'bypassPermissions' })).toEqual([])
  expect(notices(session)).toContain(
    '"deny Read(.env)" does not hold in this turn: Codex reads files without asking. Use another agent where it has to hold.',
  )
  expect(text('keep.txt')).toBe('mine')
  expect(existsSync(join(world.project, 'free'))).toBe(true)
  const edits = await asked(host, session, 'Two', 'deny', { permissionMode: 'acceptEdits' })
  expect(edits).toEqual(['AGENT_HELP.md'])
  expect([text('keep.txt'), text('patched.txt')]).toEqual(['mine', 'new line\n'])
  expect(existsSync(join(world.project, PERSONA))).toBe(false)
})

test('an answer that is sent on seeing the request is taken, 15 of 15, with a persona', async () => {
  put(PERSONA, '---\ndescription: Helps\n---\nHelp.\n')
  const names = Array.from({ length: 15 }, (_, index) => `made${index}`)
  const model = await world.model({
    answers: [...names.map(name => ({ tool: 'bash', input: { command: `touch ${name}` } })), 'Done.'],
  })
  const host = world.host([new MessagesApiHarness({ environment: world.environment(model) })])
  const { id } = await host.createSession(world.project, { persona: 'HELP', mode: 'direct' })
  const session = await host.session(id)
  const refused: unknown[] = []
  const answering = (async () => {
    for await (const batch of session.log.subscribe(0))
      for (const { event } of batch) {
        if (event.type === 'turn:end') return
        if (event.type !== 'permission:request') continue
        try {
          host.decisions.answer(id, event.requestId, { behavior: 'allow' })
        } catch (error) {
          refused.push(error)
          host.decisions.closeSession(id)
        }
      }
  })()
  await session.start('Go')
  await answering
  await session.settled()
  expect(refused).toEqual([])
  expect(names.map(name => existsSync(join(world.project, name)))).toEqual(names.map(() => true))
})

/** One turn, in which a person answers everything the same way. What the person was asked about. */
async function asked(
  host: SessionHost,
  session: LiveSession,
  message: string,
  behavior: 'allow' | 'deny',
  request?: TurnRequest,
): Promise<string[]> {
  const seen: string[] = []
  const stop = host.decisions.onChange(() => {
    for (const { request } of host.decisions.pending(session.id)) {
      const what = JSON.stringify(request.input)
      seen.push(/AGENT_HELP\.md|: > \w+|rm \w+|tee [.\w]+|cp [.\w]+ [.\w]+/.exec(what)?.[0] ?? what)
      host.decisions.answer(session.id, request.requestId, { behavior })
    }
  })
  const { lastSeq } = session.log
  await session.start(message, request)
  await session.settled()
  stop()
  expect(session.log.lastSeq).toBeGreaterThan(lastSeq)
  await untilEvent(session, ({ type }) => type === 'turn:end')
  return seen
}

function denyRm(...more: string[]): void {
  const { global } = new PolicyBook({ home: world.data }).places(world.project)
  mkdirSync(dirname(global), { recursive: true })
  writeFileSync(global, `${['deny Bash(rm *)', ...more].join('\n')}\n`, { mode: 0o600 })
}

function put(path: string, content: string): void {
  mkdirSync(dirname(join(world.project, path)), { recursive: true })
  writeFileSync(join(world.project, path), content)
}

function text(path: string): string {
  return readFileSync(join(world.project, path), 'utf8')
}

function notices(session: LiveSession): string[] {
  const of = (event: UIEvent) => (event.type === 'status' && event.status === 'notice' ? [event.message] : [])
  return eventsOf(session).flatMap(of)
}
