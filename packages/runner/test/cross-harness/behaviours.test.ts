import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { HarnessCapabilities, HarnessTurnOpts, Session, SessionHarness, UIEvent } from '@chirality/core'
import { initialSessionState, reduceSession } from '@chirality/core'
import { type Script, type ScriptedModel, startScriptedModel } from '@chirality/scripted-model'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findByMarker } from '../../src/process/leftovers.ts'
import { type Contestant, contestants } from './contestants.ts'

// The promise is one interface for any agent: each behaviour is written once and holds for all of them.

let root = ''
let marker = ''
let model: ScriptedModel | null = null
let harness: SessionHarness | null = null

beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-cross-')))
  marker = randomUUID()
  mkdirSync(path.join(root, 'home', 'tmp'), { recursive: true })
  mkdirSync(path.join(root, 'project'))
})

afterEach(async () => {
  await harness?.close()
  await model?.close()
  harness = null
  model = null
  const left = await findByMarker(marker)
  rmSync(root, { recursive: true, force: true, maxRetries: 3 })
  expect(left, 'processes left behind').toEqual([])
})

describe.each(contestants().map(contestant => [contestant.name, contestant] as const))(
  '%s',
  (_name, agent) => {
    test('text: a turn begins, streams, completes and ends once', async () => {
      await open(agent, { answers: ['Hello from the model.'] })
      const events = await turn('Say hello')
      expect(events[0]).toMatchObject({ type: 'turn:start', message: 'Say hello' })
      expect(types(events)).toContain('session:init')
      expect(of(events, 'chat:complete')).toMatchObject([{ text: 'Hello from the model.' }])
      expect(of(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
      expect(events.at(-1)?.type).toBe(agent.processPerTurn ? 'process:exit' : 'turn:end')
      expect(state(events).items.at(-1)).toMatchObject({ kind: 'text', text: 'Hello from the model.' })
    })

    test('tool use: the command runs, and its result comes back', async () => {
      await open(agent, {
        answers: [{ blocks: [{ text: 'Looking.' }, agent.command('echo from-the-tool')] }, 'Done.'],
      })
      const events = await turn('Look', agent.free)
      expect(of(events, 'tool:result')).toMatchObject([
        { isError: false, content: expect.stringContaining('from-the-tool') },
      ])
      const items = state(events).items.map(item => item.kind)
      expect(items).toEqual(expect.arrayContaining(['user', 'text', 'tool', 'text']))
      expect(of(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
    })

    test('client tool: the handler of this process is called', async () => {
      await open(agent, { answers: [{ blocks: [agent.clientTool('greet', { name: 'Ada' })] }, 'Done.'] })
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
      const events = await turn('Greet Ada', { clientTools: [greet] })
      expect(calls).toEqual([{ name: 'Ada' }])
      expect(of(events, 'tool:result')).toMatchObject([
        { isError: false, content: expect.stringContaining('Hello Ada') },
      ])
    })

    test('denied action: nothing happens, and the turn goes on', async () => {
      const file = path.join(root, 'project', 'forbidden.txt')
      await open(agent, { answers: [{ blocks: [agent.command(`touch ${file}`)] }, 'I was not allowed to.'] })
      const events = await turn('Write a file')
      expect(existsSync(file)).toBe(false)
      expect(of(events, 'chat:complete')).toMatchObject([{ text: 'I was not allowed to.' }])
      expect(of(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
    })

    test('interrupt: a streaming answer ends, and the session can go on', async () => {
      await open(agent, { answers: [{ text: 'one two three', chunkChars: 4, stallAfter: 2 }, 'Back again.'] })
      const session = newSession()
      const reading = collect(session, 'Count', {})
      await model?.waitForRequest(request => request.state === 'stalled')
      harness?.interrupt(session.id)
      const events = await reading
      expect(of(events, 'turn:end')).toMatchObject([{ reason: 'interrupted' }])
      const next = await collect(session, 'Go on', {})
      expect(of(next, 'chat:complete')).toMatchObject([{ text: 'Back again.' }])
    })

    test('stop leaves no process: not the agent, not its command, not what that started', async () => {
      const started = path.join(root, 'project', 'started')
      const shell = `sh -c 'sleep 600 & touch ${started}; sleep 600'`
      await open(agent, { answers: [{ blocks: [agent.command(shell)] }, 'never said'] })
      const session = newSession()
      const reading = collect(session, 'Wait', agent.free)
      await appears(started)
      harness?.kill(session.id)
      const events = await reading
      expect(of(events, 'turn:end')).toMatchObject([{ reason: 'killed' }])
      expect(harness?.isRunning(session.id)).toBe(false)
      await harness?.close()
      expect(await findByMarker(marker)).toEqual([])
    })

    test('resume: a new harness goes on where the old one stopped', async () => {
      await open(agent, { answers: ['First.', 'Second.'] })
      const session = newSession()
      await collect(session, 'remember the word zebra', {})
      const nativeId = session.claudeSessionId
      await harness?.close()
      harness = create(agent)
      const events = await collect(session, 'and now?', {})
      expect(of(events, 'chat:complete')).toMatchObject([{ text: 'Second.' }])
      expect(session.claudeSessionId).toBe(nativeId)
      expect(lastRequest()).toContain('zebra')
    })

    test('instructions of a turn hold for it, also when the conversation has others before', async () => {
      await open(agent, { answers: ['First.', 'Second.', 'Third.'] })
      const session = newSession()
      await collect(session, 'one', { systemPromptAppend: 'walk on tiptoe' })
      expect(lastRequest()).toContain('walk on tiptoe')
      await collect(session, 'two', { systemPromptAppend: 'march in step' })
      expect(lastRequest()).toContain('march in step')
      await harness?.close()
      harness = create(agent)
      await collect(session, 'three', { systemPromptAppend: 'dance along' })
      expect(lastRequest()).toContain('dance along')
    })

    test('fork: a new conversation with the same past, the old one untouched', async () => {
      await open(agent, { answers: ['First.', 'Forked.', 'Original.'] })
      expect(harness?.capabilities().supportsFork).toBe(true)
      const session = newSession()
      await collect(session, 'remember the word zebra', {})
      const original = session.claudeSessionId
      const fork = { ...newSession(), claudeSessionId: original }
      await collect(fork, 'in the fork: walrus', { forkSession: true })
      expect(fork.claudeSessionId).not.toBe(original)
      expect(lastRequest()).toContain('zebra')
      await collect(session, 'in the original', {})
      expect(lastRequest()).toContain('zebra')
      expect(lastRequest()).not.toContain('walrus')
    })

    test('model error: one clear failure, one end', async () => {
      await open(agent, { answers: [], otherwise: { error: { status: 400, message: 'the request is bad' } } })
      const events = await turn('Hello')
      expect(of(events, 'session:error')).toMatchObject([
        { error: expect.stringContaining('the request is bad') },
      ])
      expect(of(events, 'chat:complete')).toEqual([])
      expect(of(events, 'turn:end')).toMatchObject([{ reason: 'failed' }])
    })

    test('missing session: told, and started afresh', async () => {
      await open(agent, { answers: ['A new start.'] })
      const session = { ...newSession(), claudeSessionId: randomUUID() }
      const lost = session.claudeSessionId
      const events = await collect(session, 'Are you there?', {})
      expect(of(events, 'session:error')).toMatchObject([{ code: 'session_not_found', recovered: true }])
      expect(of(events, 'status').map(({ status }) => status)).toContain('resume_failed')
      expect(of(events, 'chat:complete')).toMatchObject([{ text: 'A new start.' }])
      expect(of(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
      expect(session.claudeSessionId).not.toBe(lost)
    })

    test('unknown event: kept, shown as drift, and harmless', async () => {
      model = await startScriptedModel({ answers: ['Still here.'] })
      const wrapper = path.join(root, 'agent')
      writeFileSync(wrapper, `#!/bin/sh\necho '${agent.unknownLine}'\nexec '${agent.binary}' "$@"\n`)
      chmodSync(wrapper, 0o755)
      harness = agent.create(model, { home: path.join(root, 'home'), marker }, wrapper)
      const events = await turn('Hello')
      expect(of(events, 'native:unknown')).toMatchObject([{ raw: JSON.parse(agent.unknownLine) }])
      expect(of(events, 'chat:complete')).toMatchObject([{ text: 'Still here.' }])
    })

    test('huge output: an answer of 2 MB arrives whole', async () => {
      await open(agent, {
        answers: [{ text: { repeat: 'abcdefgh', bytes: 2_000_000 }, chunkChars: 100_000 }],
      })
      const events = await turn('Say a lot')
      expect(of(events, 'chat:complete')[0]?.text).toHaveLength(2_000_000)
      expect(of(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
    })

    test('a second turn while one runs is refused', async () => {
      await open(agent, { answers: [{ text: 'slow', stallAfter: 'nothing' }] })
      const session = newSession()
      const reading = collect(session, 'Wait', {})
      await model?.waitForRequest(request => request.state === 'stalled')
      await expect(collect(session, 'Me too', {})).rejects.toMatchObject({ code: 'busy' })
      harness?.interrupt(session.id)
      await reading
    })

    test('what it cannot do is refused, not dropped', async () => {
      await open(agent, { answers: ['Allowed.'] })
      for (const [capability, isSupported] of Object.entries(create(agent).capabilities())) {
        const opts = PROBES[capability as keyof HarnessCapabilities]
        if (isSupported || opts === null) continue
        await expect(turn('Hello', opts), capability).rejects.toMatchObject({ code: 'unsupported' })
      }
      expect(model?.requests.filter(request => request.method === 'POST')).toEqual([])
    })

    test('what it says of streaming and cost is so', async () => {
      await open(agent, { answers: [{ text: 'one two three', chunkChars: 4 }] })
      const { supportsStreamingTokens, supportsCostTracking } = create(agent).capabilities()
      const events = await turn('Count')
      expect(of(events, 'chat:delta').length > 1).toBe(supportsStreamingTokens)
      expect((of(events, 'session:complete')[0]?.costUsd ?? 0) > 0).toBe(supportsCostTracking)
    })
  },
)

/** For each capability, what needs it. A new one does not compile without its probe; null: nothing can ask for it. */
const PROBES: Record<keyof HarnessCapabilities, HarnessTurnOpts | null> = {
  supportsSystemPrompt: null,
  supportsAppendSystemPrompt: { systemPromptAppend: 'x' },
  supportsReadOnly: { permissionMode: 'plan' },
  supportsMcp: { mcpServers: { x: { type: 'stdio', command: 'true' } } },
  supportsResume: null,
  supportsFork: { forkSession: true },
  supportsClientTools: { clientTools: [] },
  supportsStreamingTokens: null,
  supportsCostTracking: null,
  supportsNamedTools: { autoApproveTools: ['Read'] },
  supportsImages: {
    images: [{ type: 'image', source: { kind: 'base64', data: '', mediaType: 'image/png' } }],
  },
  supportsSteering: null,
  supportsPrewarm: null,
  supportsDecisions: { decide: async () => ({ behavior: 'allow' }) },
  supportsMaxTurns: { maxTurns: 3 },
  supportsBudget: { maxBudgetUsd: 1 },
}

function create(agent: Contestant): SessionHarness {
  if (!model) throw new Error('open a model first')
  return agent.create(model, { home: path.join(root, 'home'), marker })
}

async function open(agent: Contestant, script: Script): Promise<void> {
  model = await startScriptedModel(script)
  harness = create(agent)
}

function newSession(): Session {
  const at = '2026-01-01T00:00:00.000Z'
  const projectRoot = path.join(root, 'project')
  const id = randomUUID()
  return {
    id,
    createdAt: at,
    updatedAt: at,
    projectRoot,
    persona: null,
    mode: 'direct',
    claudeSessionId: null,
  }
}

function turn(message: string, opts: HarnessTurnOpts = {}): Promise<UIEvent[]> {
  return collect(newSession(), message, opts)
}

/** All events of a turn; the session learns its native id, as a store would see to. */
async function collect(session: Session, message: string, opts: HarnessTurnOpts): Promise<UIEvent[]> {
  const events: UIEvent[] = []
  for await (const event of harness?.startTurn(session, message, opts) ?? []) {
    if (event.type === 'session:init') session.claudeSessionId = event.claudeSessionId
    events.push(event)
  }
  return events
}

function of<T extends UIEvent['type']>(events: UIEvent[], type: T): Extract<UIEvent, { type: T }>[] {
  return events.filter((event): event is Extract<UIEvent, { type: T }> => event.type === type)
}

function types(events: UIEvent[]): string[] {
  return events.map(({ type }) => type)
}

function state(events: UIEvent[]) {
  const at = '2026-01-01T00:00:00.000Z'
  const envelopes = events.map((event, i) => ({ seq: i + 1, at, sessionId: 's', turnId: 't', event }))
  return reduceSession(initialSessionState('s'), envelopes)
}

function lastRequest(): string {
  return JSON.stringify(model?.requests.findLast(({ served }) => served !== undefined)?.body)
}

/** Waits for a file, not for time: the agent's command makes it. */
async function appears(file: string): Promise<void> {
  while (!existsSync(file)) await new Promise(resolve => setTimeout(resolve, 20))
}
