import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import type { NewSession } from '../../src/host/host-options.ts'
import { CageSettings } from '../../src/trust/cage-settings.ts'
import { permissionRequest } from '../decisions/permission-request.ts'
import { eventsOf, untilEvent, useHostWorld } from '../support/host-world.ts'
import {
  answers,
  init,
  ScriptedHarness,
  type ScriptedHarnessOptions,
  type TurnScript,
  waits,
} from '../support/scripted-harness.ts'

const world = useHostWorld()

async function open(
  options: NewSession = {},
  more: ScriptedHarnessOptions & { scripts?: TurnScript[] } = {},
) {
  const harness = new ScriptedHarness(more.scripts ?? [], more)
  const host = world.host([harness])
  const { id } = await host.createSession(world.project, options)
  return { harness, host, session: await host.session(id) }
}

function persona(id: string, frontmatter: string): void {
  mkdirSync(join(world.project, 'agents'), { recursive: true })
  writeFileSync(join(world.project, 'agents', `AGENT_${id}.md`), `---\n${frontmatter}\n---\nDo it.\n`)
}

const notices = (events: UIEvent[]) =>
  events.flatMap(event => (event.type === 'status' && event.status === 'notice' ? [event.message] : []))

test('the session’s settings count less than the persona, the persona less than the turn', async () => {
  persona('DECOMP', 'model: persona-model\ntools: Read, Grep\nmax_turns: 7')
  const settings = { model: 'session-model', permissionMode: 'plan' as const, thinking: 'low' as const }
  const { harness, session } = await open({ ...settings, persona: 'DECOMP', mode: 'pipeline' })
  await session.start('One')
  await session.settled()
  await session.start('Two', { model: 'turn-model', maxTurns: 2, systemPromptAppend: 'Only today.' })
  await session.settled()
  const [one, two] = harness.turns
  expect(one?.opts).toMatchObject({
    model: 'persona-model',
    permissionMode: 'plan',
    thinking: 'low',
    tools: 'Read,Grep',
    maxTurns: 7,
  })
  expect(two?.opts).toMatchObject({ model: 'turn-model', maxTurns: 2, tools: 'Read,Grep' })
  expect(one?.opts.systemPromptAppend).toContain('Do it.')
  expect(two?.opts.systemPromptAppend).toMatch(/Do it\.[\s\S]*Only today\.$/)
  const saved = readFileSync(world.file('prompts', `${session.id}-system.txt`), 'utf8')
  expect(saved).toBe(two?.opts.systemPromptAppend)
})

test('an addition to the system prompt is cut to its limit, and a notice says what was cut', async () => {
  const { harness, session } = await open()
  await session.start('One', { systemPromptAppend: 'x'.repeat(90_000) })
  await session.settled()
  expect(harness.turns[0]?.opts.systemPromptAppend?.length).toBeLessThanOrEqual(64_000)
  expect(notices(eventsOf(session))).toContainEqual(expect.stringContaining('systemPromptAppend is too long'))
})

test.each<[string, NewSession, number | null]>([
  ['of a person has no limit of rounds', {}, null],
  ['has the limit that was chosen for it', { maxTurns: 40 }, 40],
  ['in pipeline mode, which nobody watches, has 25', { mode: 'pipeline' }, 25],
  ['in pipeline mode has the limit that was chosen for it', { mode: 'pipeline', maxTurns: 40 }, 40],
])('a session %s', async (_what, options, maxTurns) => {
  const { harness, session } = await open(options)
  await session.start('Go')
  await session.settled()
  expect(harness.turns[0]?.opts.maxTurns).toBe(maxTurns)
})

test('a turn that nobody watches has 100 rounds, or the limit that was chosen', async () => {
  const { harness, session } = await open()
  for (const request of [{ unattended: true }, { unattended: true, maxTurns: 3 }]) {
    await session.start('Go', request)
    await session.settled()
  }
  expect(harness.turns.map(({ opts }) => opts.maxTurns)).toEqual([100, 3])
  expect(harness.turns[0]?.opts).not.toHaveProperty('unattended')
})

test('the agent asks if a person can answer; otherwise such calls are denied', async () => {
  const asking = await open()
  await asking.session.start('Go')
  await asking.session.settled()
  expect(asking.harness.turns[0]?.opts).toMatchObject({
    permissionMode: 'default',
    decide: expect.any(Function),
  })
  await asking.host.close()
  const silent = await open({}, { capabilities: { supportsDecisions: false } })
  await silent.session.start('Go')
  await silent.session.settled()
  expect(silent.harness.turns[0]?.opts.permissionMode).toBe('dontAsk')
  expect(silent.harness.turns[0]?.opts).not.toHaveProperty('decide')
})

test('the mode in which a model decides is kept, and replaced with a notice for an agent that has none', async () => {
  const able = await open({ permissionMode: 'auto' }, { capabilities: { supportsAutoMode: true } })
  await able.session.start('Go')
  await able.session.settled()
  expect(able.harness.turns[0]?.opts.permissionMode).toBe('auto')
  expect(notices(eventsOf(able.session)).join()).not.toContain('A model decides')
  await able.host.close()
  const unable = await open({ permissionMode: 'auto' })
  await unable.session.start('Go')
  await unable.session.settled()
  expect(unable.harness.turns[0]?.opts.permissionMode).toBe('default')
  expect(notices(eventsOf(unable.session)).join()).toContain('has no mode "A model decides"')
})

test.each([
  [true, false],
  [false, true],
] as const)('AGENTS.md that the agent reads itself (%s) is in its prompt: %s', async (reads, isTold) => {
  const { harness, session } = await open()
  writeFileSync(join(world.project, 'AGENTS.md'), `${'x'.repeat(5000)} herons`)
  Object.assign(harness, { readsAgentsFile: async () => reads })
  await session.start('Go')
  await session.settled()
  expect(harness.turns[0]?.opts.systemPromptAppend?.includes('herons')).toBe(isTold)
})

test('an option that a harness lacks is left out, with a notice in the log', async () => {
  persona('SCOPED', 'tools: Read\ndisallowed_tools: Bash')
  const capabilities = {
    supportsNamedTools: false,
    supportsMcp: false,
    supportsMaxTurns: false,
    supportsBudget: false,
    supportsAppendSystemPrompt: false,
  }
  const { harness, session } = await open({ persona: 'SCOPED' }, { capabilities })
  const mcpServers = { a: { type: 'http' as const, url: 'http://127.0.0.1:9' } }
  await session.start('Go', {
    mcpServers,
    maxTurns: 3,
    autoApproveTools: ['Read'],
    maxBudgetUsd: 5,
    permissionMode: 'dontAsk',
  })
  await session.settled()
  const { opts } = harness.turns[0] ?? {}
  for (const option of [
    'mcpServers',
    'maxTurns',
    'autoApproveTools',
    'maxBudgetUsd',
    'systemPromptAppend',
    'tools',
  ])
    expect(opts).not.toHaveProperty(option)
  const said = notices(eventsOf(session)).join('\n')
  for (const word of [
    'tools',
    'disallowed_tools',
    'mcpServers',
    'maxTurns',
    'autoApproveTools',
    'systemPromptAppend',
  ])
    expect(said).toContain(word)
  expect(said).not.toContain('maxBudgetUsd')
})

test('tools that an agent cannot be told by name are allowed when it asks, and the notice is left out', async () => {
  const { harness, session } = await open({}, { capabilities: { supportsNamedTools: false } })
  await session.start('Go', { autoApproveTools: ['Bash', 'Edit'], permissionMode: 'acceptEdits' })
  const { opts } = harness.turns[0] ?? {}
  expect(opts).not.toHaveProperty('autoApproveTools')
  const asked = permissionRequest({
    sessionId: session.id,
    toolName: 'command',
    input: { command: 'touch a' },
  })
  expect(await opts?.decide?.(asked, new AbortController().signal)).toMatchObject({
    behavior: 'allow',
    by: 'policy',
    rule: 'turn: allow Bash',
  })
  await session.settled()
  expect(notices(eventsOf(session)).join('\n')).not.toContain('autoApproveTools')
})

test('a call that the caller or the persona denies is asked about, whatever the list of the turn allows', async () => {
  persona('CAREFUL', 'description: Careful\ndisallowed_tools: Edit')
  let call: { toolName: string; input: Record<string, unknown> } = { toolName: '', input: {} }
  const answered: unknown[] = []
  const asks: TurnScript = async function* ({ session: { id: sessionId }, message, opts }) {
    yield { type: 'turn:start', sessionId, message }
    yield init(sessionId)
    const request = permissionRequest({ sessionId, requestId: `r${answered.length}`, ...call })
    answered.push((await opts.decide?.(request, new AbortController().signal))?.by)
    yield { type: 'turn:end', sessionId, reason: 'completed' }
  }
  const { session } = await open(
    { persona: 'CAREFUL' },
    { capabilities: { supportsNamedTools: false }, scripts: Array.from({ length: 6 }, () => asks) },
  )
  const listed = { autoApproveTools: ['Bash', 'Edit', 'Write'], permissionMode: 'default' as const }
  const answeredBy = async (denied: object, toolName: string, input: Record<string, unknown>) => {
    call = { toolName, input }
    // Nobody answers what is asked.
    await session.start('Go', { ...listed, ...denied, decisionTimeoutMs: 1 })
    await session.settled()
    return answered.at(-1)
  }
  const noRemoving = { disallowedTools: ['Bash(rm *)'] }
  expect(await answeredBy(noRemoving, 'command', { command: 'ls' })).toBe('policy')
  expect(await answeredBy(noRemoving, 'command', { command: 'rm -r a' })).toBe('timeout')
  expect(await answeredBy(noRemoving, 'Write', { file_path: 'a' })).toBe('policy')
  expect(await answeredBy({}, 'Edit', { file_path: 'a' })).toBe('timeout')
  expect(await answeredBy({ disallowedToolsOverride: [] }, 'Edit', { file_path: 'a' })).toBe('policy')
  expect(await answeredBy({ disallowedTools: ['Bash(rm'] }, 'command', { command: 'ls' })).toBe('timeout')
})

test('the user’s own tool servers reach a turn beside those of the agent, and a request that names servers has only those', async () => {
  persona('TRACKER', 'description: Tracks')
  const { harness, host, session } = await open({ persona: 'TRACKER' })
  const at = (url: string) => () => ({ type: 'http' as const, url })
  await host.toolServers.set(world.project, { kind: 'user-global' }, 'docs', at('http://127.0.0.1:1/'))
  await host.toolServers.set(world.project, { kind: 'user-project' }, 'docs', at('http://127.0.0.1:2/'))
  const own = { kind: 'user-persona' as const, persona: 'TRACKER' }
  await host.toolServers.set(world.project, own, 'tracker', at('http://127.0.0.1:3/'))
  const other = { kind: 'user-persona' as const, persona: 'OTHER' }
  await host.toolServers.set(world.project, other, 'secret', at('http://127.0.0.1:4/'))
  await session.start('Go')
  await session.settled()
  expect(harness.turns[0]?.opts).toMatchObject({
    keepOwnMcpServers: true,
    mcpServers: {
      docs: { type: 'http', url: 'http://127.0.0.1:2/' },
      tracker: { type: 'http', url: 'http://127.0.0.1:3/' },
    },
  })
  expect(harness.turns[0]?.opts.mcpServers).not.toHaveProperty('secret')
  const mcpServers = { only: { type: 'http' as const, url: 'http://127.0.0.1:9/' } }
  await session.start('Again', { mcpServers })
  await session.settled()
  expect(harness.turns[1]?.opts).toMatchObject({ keepOwnMcpServers: false, mcpServers })
  expect(harness.turns[1]?.opts.mcpServers).not.toHaveProperty('docs')

  await host.close()
  const without = await open({}, { capabilities: { supportsMcp: false } })
  await without.session.start('Go')
  await without.session.settled()
  expect(without.harness.turns[0]?.opts).not.toHaveProperty('mcpServers')
})

test('images for an agent that takes none are refused before the start', async () => {
  const { session } = await open({}, { capabilities: { supportsImages: false } })
  const images = [
    { type: 'image' as const, source: { kind: 'path' as const, path: 'a.png', mediaType: 'image/png' } },
  ]
  await expect(session.start('Look', { images })).rejects.toMatchObject({ code: 'unsupported' })
  expect(eventsOf(session)).toEqual([])
})

test('a decision goes through the broker of the host', async () => {
  const asks: TurnScript = async function* ({ session: { id: sessionId }, message, opts }) {
    yield { type: 'turn:start', sessionId, message }
    yield init(sessionId)
    const request = {
      type: 'permission:request' as const,
      sessionId,
      requestId: 'r1',
      kind: 'tool' as const,
      toolName: 'Bash',
      input: { command: 'ls' },
      raw: {},
    }
    yield request
    const decision = await opts.decide?.(request, new AbortController().signal)
    const outcome = decision?.behavior === 'allow' ? 'allowed' : 'denied'
    yield { type: 'permission:resolved', sessionId, requestId: 'r1', outcome, by: decision?.by ?? 'person' }
    yield { type: 'turn:end', sessionId, reason: 'completed' }
  }
  const { host, session } = await open({}, { scripts: [asks] })
  const phases: string[] = []
  host.onStatus(({ phase }) => phases.push(phase))
  await session.start('Go')
  await untilEvent(session, ({ type }) => type === 'permission:request')
  while (host.decisions.pending(session.id).length === 0) await new Promise(setImmediate)
  host.decisions.answer(session.id, 'r1', { behavior: 'allow' })
  await session.settled()
  expect(eventsOf(session)).toContainEqual(
    expect.objectContaining({ type: 'permission:resolved', outcome: 'allowed' }),
  )
  expect(phases).toContain('waiting')
})

test('a fork branches off from the conversation it was made of, once', async () => {
  const { host, harness, session } = await open(
    {},
    { scripts: [answers('A.'), answers('B.'), answers('C.')] },
  )
  await session.start('One')
  await session.settled()
  const fork = await host.session((await host.forkSession(session.id)).id)
  await fork.start('Two')
  await fork.settled()
  expect(harness.turns[1]).toMatchObject({
    session: { claudeSessionId: 'native-1' },
    opts: { forkSession: true },
  })
  await fork.start('Three')
  await fork.settled()
  expect(harness.turns[2]?.opts).not.toHaveProperty('forkSession')
})

/** Ends before the agent said anything. */
const fails: TurnScript = async function* ({ session: { id: sessionId }, message }) {
  yield { type: 'turn:start', sessionId, message }
  yield init(sessionId)
  yield { type: 'session:error', sessionId, error: 'Overloaded.', code: 'api_error' }
  yield { type: 'turn:end', sessionId, reason: 'failed' }
}

test('an account of the past is sent until the agent has answered, also by another host, and not again', async () => {
  const { host, session } = await open({}, { scripts: [answers('A heron.'), answers('A pelican.')] })
  await session.start('One')
  await session.settled()
  const atSeq = session.log.lastSeq
  await session.start('Two')
  await session.settled()
  const { id } = await host.forkSession(session.id, { atSeq })
  await host.close()
  const harness = new ScriptedHarness([fails, answers('Done.')])
  const fork = await world.host([harness]).session(id)
  for (const message of ['Three', 'Four', 'Five']) {
    await fork.start(message)
    await fork.settled()
  }
  const [first, second, third] = harness.turns
  for (const turn of [first, second]) {
    expect(turn?.session.claudeSessionId).toBeNull()
    expect(turn?.opts).not.toHaveProperty('forkSession')
    expect(turn?.message).toContain('> One\n')
    expect(turn?.message).toContain('> A heron.\n')
    expect(turn?.message).not.toMatch(/Two|pelican/)
  }
  expect(first?.message).toMatch(/<\/earlier-conversation>\n\nThree$/)
  expect(second?.message).toMatch(/> Three\n[\s\S]*<\/earlier-conversation>\n\nFour$/)
  expect(third).toMatchObject({ message: 'Five', session: { claudeSessionId: 'native-1' } })
  const said = eventsOf(fork).flatMap(event => (event.type === 'turn:start' ? [event.message] : []))
  expect(said).toEqual(['One', 'Three', 'Four', 'Five'])
  expect(notices(eventsOf(fork)).filter(text => text.includes('written account'))).toHaveLength(1)
})

test('a fork at the end gets an account, too, when the other session went on before its first turn', async () => {
  const { host, harness, session } = await open({}, { scripts: [answers('A.'), answers('B.'), fails] })
  await session.start('One')
  await session.settled()
  const forked = await host.forkSession(session.id)
  expect(forked.forkedFrom?.history).toBe('whole')
  await session.start('Two')
  await session.settled()
  const fork = await host.session(forked.id)
  for (const message of ['/review it', 'Four', 'Five']) {
    await fork.start(message)
    await fork.settled()
  }
  const [first, second, third] = harness.turns.slice(2)
  expect(first).toMatchObject({ session: { claudeSessionId: null } })
  expect(first?.message).toMatch(/> One\n[\s\S]*\n\n\/review it$/)
  expect(first?.message).not.toContain('Two')
  expect(second?.message).toContain('> One\n')
  expect(third?.message).toBe('Five')
  const told = notices(eventsOf(fork)).filter(text => /account/.test(text))
  expect(told).toEqual([
    expect.stringContaining('begins a new one'),
    '/review is sent as text and not as a command, behind the account.',
  ])
})

test('prewarm, permission mode, title', async () => {
  const { host, harness, session } = await open({}, { scripts: [waits()] })
  await session.prewarm()
  expect(harness.prewarmed).toEqual([session.id])
  await session.start('Go')
  await session.setPermissionMode('acceptEdits')
  expect(harness.permissionMode).toBe('acceptEdits')
  await host.renameSession(session.id, 'Named')
  expect(session.status.title).toBe('Named')
  session.interrupt()
  await session.settled()
  expect(await host.store.resume(session.id)).toMatchObject({
    title: 'Named',
    settings: { permissionMode: 'acceptEdits' },
  })
  await session.start('Again')
  await session.settled()
  expect(harness.turns[1]?.opts.permissionMode).toBe('acceptEdits')
})

test('a session whose agent is being started before a turn is not let go of', async () => {
  let isThere = () => {}
  const there = new Promise<void>(resolve => {
    isThere = resolve
  })
  let begins = () => {}
  const begun = new Promise<void>(resolve => {
    begins = resolve
  })
  const prewarming = async () => {
    begins()
    await there
  }
  const { host, session } = await open({}, { prewarming })
  const warm = session.prewarm()
  expect(await host.letGo(session.id)).toBe(false)
  await begun
  expect(await host.letGo(session.id)).toBe(false)
  isThere()
  await warm
  expect(await host.letGo(session.id)).toBe(true)
  await expect(session.prewarm()).rejects.toMatchObject({ code: 'closed' })
})

test('to take all checks away is for a turn, never for a session', async () => {
  const { host, harness, session } = await open()
  const forEver = { permissionMode: 'bypassPermissions' as const }
  await expect(host.createSession(world.project, forEver)).rejects.toMatchObject({ code: 'unsupported' })
  await expect(session.setPermissionMode('bypassPermissions')).rejects.toMatchObject({ code: 'unsupported' })
  await session.start('Go', forEver)
  await session.settled()
  expect(harness.turns[0]?.opts.permissionMode).toBe('bypassPermissions')
})

test('the strictest cage counts, whoever asks for it', async () => {
  persona('CAGED', 'cage: on')
  persona('FREE', 'cage: off')
  const { harness, host, session } = await open({ persona: 'CAGED' })
  const levels = async (cage?: 'off' | 'on' | 'required') => {
    await session.start('Go', { cage })
    await session.settled()
    return harness.turns.at(-1)?.opts.cage
  }
  expect([await levels(), await levels('off'), await levels('required')]).toEqual(['on', 'on', 'required'])
  await new CageSettings({ home: world.data }).set(world.project, 'required')
  const { id } = await host.createSession(world.project, { persona: 'FREE' })
  const free = await host.session(id)
  await free.start('Go', { cage: 'off' })
  await free.settled()
  expect(harness.turns.at(-1)?.opts.cage).toBe('required')
})
