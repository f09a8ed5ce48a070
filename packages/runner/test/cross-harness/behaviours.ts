import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import {
  type HarnessCapabilities,
  type HarnessTurnOpts,
  initialSessionState,
  reduceSession,
  type UIEvent,
} from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { fileAppears, ofType as of } from '../support/turns.ts'
import { type Arena, useArena } from './arena.ts'
import type { Contestant } from './contestants.ts'

// The promise is one interface for any agent: each behaviour is written once and holds for all of them. An agent has a file
// of its own that has it show them, because files run side by side.

export function showBehaviours(agents: Contestant[]): void {
  const arena = useArena()
  describe.each(agents.map(agent => [agent.name, agent] as const))('%s', (_name, agent) => {
    basics(arena, agent)
    // An older release, and a form that starts the same agent anew for each turn, are in use, too. Whatever else they do
    // is for `npm run test:all`.
    const isSecond =
      agent.isOlder ||
      (agent.processPerTurn && agents.some(other => other.harness === agent.harness && !other.processPerTurn))
    if (!isSecond || process.env.CHIRALITY_TEST_ALL) refinements(arena, agent)
  })
}

/** Enough to see that a release can be used. */
function basics(arena: Arena, agent: Contestant): void {
  test('text: a turn begins, streams, completes and ends once', async () => {
    await arena.open(agent, { answers: ['Hello from the model.'] })
    const events = await arena.turn('Say hello')
    expect(events[0]).toMatchObject({ type: 'turn:start', message: 'Say hello' })
    expect(types(events)).toContain('session:init')
    expect(of(events, 'chat:complete')).toMatchObject([{ text: 'Hello from the model.' }])
    expect(of(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
    expect(events.at(-1)?.type).toBe(agent.processPerTurn ? 'process:exit' : 'turn:end')
    expect(state(events).items.at(-1)).toMatchObject({ kind: 'text', text: 'Hello from the model.' })
  })

  test('tool use: the command runs, and its result comes back', async () => {
    await arena.open(agent, {
      answers: [{ blocks: [{ text: 'Looking.' }, agent.command('echo from-the-tool')] }, 'Done.'],
    })
    const events = await arena.turn('Look', agent.free)
    expect(of(events, 'tool:result')).toMatchObject([
      { isError: false, content: expect.stringContaining('from-the-tool') },
    ])
    const items = state(events).items.map(item => item.kind)
    expect(items).toEqual(expect.arrayContaining(['user', 'text', 'tool', 'text']))
    expect(of(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
  })

  test('client tool: the handler of this process is called', async () => {
    await arena.open(agent, {
      answers: [{ blocks: [agent.clientTool('greet', { name: 'Ada' })] }, 'Done.'],
    })
    // Where it takes none, asking for them is refused: see below.
    if (!arena.harness.capabilities().supportsClientTools) return
    const calls: unknown[] = []
    const greet = {
      name: 'greet',
      description: 'Greets someone',
      inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      handler: async (args: Record<string, unknown>) => {
        calls.push(args)
        return { content: `Hello ${String(args.name)}` }
      },
    }
    const events = await arena.turn('Greet Ada', { clientTools: [greet] })
    expect(calls).toEqual([{ name: 'Ada' }])
    expect(of(events, 'tool:result')).toMatchObject([
      { isError: false, content: expect.stringContaining('Hello Ada') },
    ])
  })

  test('denied action: nothing happens, and the turn goes on', async () => {
    const file = path.join(arena.project, 'forbidden.txt')
    await arena.open(agent, {
      answers: [{ blocks: [agent.command(`touch ${file}`)] }, 'I was not allowed to.'],
    })
    const events = await arena.turn('Write a file')
    expect(existsSync(file)).toBe(false)
    if (agent.denialEndsTurn) return
    expect(of(events, 'chat:complete')).toMatchObject([{ text: 'I was not allowed to.' }])
    expect(of(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
  })

  test('interrupt: a streaming answer ends, and the session can go on', async () => {
    await arena.open(agent, {
      answers: [{ text: 'one two three', chunkChars: 4, stallAfter: 2 }, 'Back again.'],
    })
    const session = arena.session()
    const reading = arena.collect(session, 'Count', {})
    await arena.model.waitForRequest(request => request.state === 'stalled')
    arena.harness.interrupt(session.id)
    const events = await reading
    expect(of(events, 'turn:end')).toMatchObject([{ reason: 'interrupted' }])
    const next = await arena.collect(session, 'Go on', {})
    expect(of(next, 'chat:complete')).toMatchObject([{ text: 'Back again.' }])
  })

  test('stop leaves no process: not the agent, not its command, not what that started', async () => {
    const started = path.join(arena.project, 'started')
    const shell = `sh -c 'sleep 600 & touch ${started}; sleep 600'`
    await arena.open(agent, { answers: [{ blocks: [agent.command(shell)] }, 'never said'] })
    const session = arena.session()
    const reading = arena.collect(session, 'Wait', agent.free)
    await fileAppears(started)
    arena.harness.kill(session.id)
    const events = await reading
    expect(of(events, 'turn:end')).toMatchObject([{ reason: 'killed' }])
    expect(arena.harness.isRunning(session.id)).toBe(false)
    await arena.harness.close()
    expect(await findByMarker(arena.marker)).toEqual([])
  })

  test('resume: a new harness goes on where the old one stopped', async () => {
    await arena.open(agent, { answers: ['First.', 'Second.'] })
    const session = arena.session()
    await arena.collect(session, 'remember the word zebra', {})
    const nativeId = session.claudeSessionId
    await arena.reopen(agent)
    const events = await arena.collect(session, 'and now?', {})
    expect(of(events, 'chat:complete')).toMatchObject([{ text: 'Second.' }])
    expect(session.claudeSessionId).toBe(nativeId)
    expect(lastRequest(arena)).toContain('zebra')
  })
}

function refinements(arena: Arena, agent: Contestant): void {
  test('work folder: the agent works there, and logs and state stay in the project', async () => {
    const workFolder = path.join(arena.root, 'worktree')
    mkdirSync(workFolder)
    await arena.open(agent, {
      answers: [{ blocks: [agent.command('pwd > here.txt')] }, 'Done.', 'Again.'],
    })
    const session = arena.session({ workFolder })
    await arena.collect(session, 'remember the word zebra', agent.free)
    expect(readFileSync(path.join(workFolder, 'here.txt'), 'utf8').trim()).toBe(workFolder)
    await arena.reopen(agent)
    const events = await arena.collect(session, 'and now?', agent.free)
    expect(of(events, 'chat:complete')).toMatchObject([{ text: 'Again.' }])
    expect(lastRequest(arena)).toContain('zebra')
    expect(readdirSync(workFolder)).toEqual(['here.txt'])
    expect(readdirSync(path.join(arena.project, '.chirality', 'logs'))).toContain(agent.harness)
    expect(existsSync(path.join(arena.project, 'here.txt'))).toBe(false)
  })

  test('instructions of a turn hold for it, also when the conversation has others before', async () => {
    await arena.open(agent, { answers: ['First.', 'Second.', 'Third.'] })
    const session = arena.session()
    await arena.collect(session, 'one', { systemPromptAppend: 'walk on tiptoe' })
    expect(lastRequest(arena)).toContain('walk on tiptoe')
    await arena.collect(session, 'two', { systemPromptAppend: 'march in step' })
    expect(lastRequest(arena)).toContain('march in step')
    await arena.reopen(agent)
    await arena.collect(session, 'three', { systemPromptAppend: 'dance along' })
    expect(lastRequest(arena)).toContain('dance along')
  })

  test('fork: a new conversation with the same past, the old one untouched', async () => {
    await arena.open(agent, { answers: ['First.', 'Forked.', 'Original.'] })
    if (!arena.harness.capabilities().supportsFork) return
    const session = arena.session()
    await arena.collect(session, 'remember the word zebra', {})
    const original = session.claudeSessionId
    const fork = { ...arena.session(), claudeSessionId: original }
    await arena.collect(fork, 'in the fork: walrus', { forkSession: true })
    expect(fork.claudeSessionId).not.toBe(original)
    expect(lastRequest(arena)).toContain('zebra')
    await arena.collect(session, 'in the original', {})
    expect(lastRequest(arena)).toContain('zebra')
    expect(lastRequest(arena)).not.toContain('walrus')
  })

  test('model error: one clear failure, one end', async () => {
    await arena.open(agent, {
      answers: [],
      otherwise: { error: { status: 400, message: 'the request is bad' } },
    })
    const events = await arena.turn('Hello')
    if (agent.answersWithErrors) {
      expect(of(events, 'chat:complete')).toMatchObject([
        { text: expect.stringContaining('the request is bad') },
      ])
      return
    }
    expect(of(events, 'session:error')).toMatchObject([
      { error: expect.stringContaining('the request is bad') },
    ])
    expect(of(events, 'chat:complete')).toEqual([])
    expect(of(events, 'turn:end')).toMatchObject([{ reason: 'failed' }])
  })

  test('missing session: told, and started afresh', async () => {
    await arena.open(agent, { answers: ['A new start.'] })
    const session = { ...arena.session(), claudeSessionId: randomUUID() }
    const lost = session.claudeSessionId
    const events = await arena.collect(session, 'Are you there?', {})
    expect(of(events, 'session:error')).toMatchObject([{ code: 'session_not_found', recovered: true }])
    expect(of(events, 'status').map(({ status }) => status)).toContain('resume_failed')
    expect(of(events, 'chat:complete')).toMatchObject([{ text: 'A new start.' }])
    expect(of(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
    expect(session.claudeSessionId).not.toBe(lost)
  })

  const { binary, unknownLine } = agent
  const drifts = binary && unknownLine ? [{ binary, unknownLine }] : []
  test.each(drifts)('unknown event: kept, shown as drift, and harmless', async ({ binary, unknownLine }) => {
    const wrapper = path.join(arena.root, 'agent')
    writeFileSync(wrapper, `#!/bin/sh\necho '${unknownLine}'\nexec '${binary}' "$@"\n`)
    chmodSync(wrapper, 0o755)
    await arena.open(agent, { answers: ['Still here.'] }, wrapper)
    const events = await arena.turn('Hello')
    expect(of(events, 'native:unknown')).toMatchObject([{ raw: JSON.parse(unknownLine) }])
    expect(of(events, 'chat:complete')).toMatchObject([{ text: 'Still here.' }])
  })

  test('huge output: an answer of 2 MB arrives whole', async () => {
    await arena.open(agent, {
      answers: [{ text: { repeat: 'abcdefgh', bytes: 2_000_000 }, chunkChars: 100_000 }],
    })
    const events = await arena.turn('Say a lot')
    expect(of(events, 'chat:complete')[0]?.text).toHaveLength(2_000_000)
    expect(of(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
  })

  test('a second turn while one runs is refused', async () => {
    await arena.open(agent, { answers: [{ text: 'slow', stallAfter: 'nothing' }] })
    const session = arena.session()
    const reading = arena.collect(session, 'Wait', {})
    await arena.model.waitForRequest(request => request.state === 'stalled')
    await expect(arena.collect(session, 'Me too', {})).rejects.toMatchObject({ code: 'busy' })
    arena.harness.interrupt(session.id)
    await reading
  })

  test('what it cannot do is refused, not dropped', async () => {
    await arena.open(agent, { answers: ['Allowed.'] })
    const capabilities = arena.harness.capabilities()
    for (const [capability, opts] of Object.entries(PROBES)) {
      if (capabilities[capability as keyof HarnessCapabilities] || opts === null) continue
      await expect(arena.turn('Hello', opts), capability).rejects.toMatchObject({ code: 'unsupported' })
    }
    expect(arena.model.requests.filter(request => request.method === 'POST')).toEqual([])
  })

  test('what it says of AGENTS.md is what its model gets', async () => {
    await arena.open(agent, { answers: ['Seen.'] })
    writeFileSync(path.join(arena.project, 'AGENTS.md'), 'Herons are grey.')
    const reads = await arena.harness.readsAgentsFile?.(arena.project, {})
    await arena.turn('Hello')
    if (reads !== undefined) expect(lastRequest(arena).includes('Herons are grey.')).toBe(reads)
  })

  test('what it says of streaming and cost is so', async () => {
    await arena.open(agent, { answers: [{ text: 'one two three', chunkChars: 4 }] })
    const { supportsStreamingTokens, supportsCostTracking } = arena.harness.capabilities()
    const events = await arena.turn('Count')
    expect(of(events, 'chat:delta').length > 1).toBe(supportsStreamingTokens)
    expect((of(events, 'session:complete')[0]?.costUsd ?? 0) > 0).toBe(supportsCostTracking)
  })
}

/** For each capability, what needs it. A new one does not compile without its probe; null: nothing can ask for it. */
const PROBES: Record<keyof HarnessCapabilities, HarnessTurnOpts | null> = {
  supportsSystemPrompt: null,
  supportsAppendSystemPrompt: { systemPromptAppend: 'x' },
  supportsReadOnly: { permissionMode: 'plan' },
  supportsMcp: { mcpServers: { x: { type: 'stdio', command: 'true' } } },
  supportsResume: null,
  supportsFork: { forkSession: true },
  supportsForkAt: null,
  supportsClientTools: { clientTools: [] },
  supportsStreamingTokens: null,
  streamsTokensInQuery: null,
  supportsCostTracking: null,
  supportsNamedTools: { autoApproveTools: ['Read'] },
  supportsImages: {
    images: [{ type: 'image', source: { kind: 'base64', data: '', mediaType: 'image/png' } }],
  },
  supportsSteering: null,
  supportsPrewarm: null,
  asksAgain: null,
  supportsDecisions: { decide: async () => ({ behavior: 'allow' }) },
  supportsMaxTurns: { maxTurns: 3 },
  supportsBudget: { maxBudgetUsd: 1 },
  supportsAutoMode: { permissionMode: 'auto' },
  supportsCage: { cage: 'required' },
}

function types(events: UIEvent[]): string[] {
  return events.map(({ type }) => type)
}

function state(events: UIEvent[]) {
  const at = '2026-01-01T00:00:00.000Z'
  const envelopes = events.map((event, i) => ({ seq: i + 1, at, sessionId: 's', turnId: 't', event }))
  return reduceSession(initialSessionState('s'), envelopes)
}

/** Of the conversation: an agent may ask for a title at the same time. */
function lastRequest(arena: Arena): string {
  return JSON.stringify(arena.model.requests.findLast(({ served }) => served.startsWith('answers['))?.body)
}
