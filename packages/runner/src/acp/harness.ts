import { createHash, randomUUID } from 'node:crypto'
import {
  type HarnessCapabilities,
  HarnessError,
  type HarnessEvent,
  type HarnessInstallStatus,
  type HarnessMeta,
  type HarnessQuery,
  type SessionHarness,
} from '@chirality/core'
import type { HarnessOptions } from '../harness-descriptor.ts'
import { adoptAgent } from '../process/adopt-agent.ts'
import { processEnv } from '../process/system/process-env.ts'
import { stopTraced, traceProcess } from '../process/traced-process.ts'
import { serveClientTools } from '../tool-server/serve-client-tools.ts'
import type { TurnParts, TurnPlan, TurnPrompt } from '../turn/connection.ts'
import { type BegunTurn, createHarness, type NewTurn } from '../turn/create-harness.ts'
import { type AgentLaunch, type AgentLease, KeptAgents } from '../turn/kept-agents.ts'
import { RpcTurn } from '../turn/rpc-turn.ts'
import { checkDirectory } from '../turn/start-failure.ts'
import { type EndedAgent, toldPlan } from '../turn/told-turn.ts'
import { exitListener } from '../turn/turn-events.ts'
import type { AgentName } from '../turn/turn-program.ts'
import { withAccount } from '../turn/turn-query.ts'
import { AcpAgent, type AcpConfig, type AcpMessage } from './acp-agent.ts'
import { AcpDialogue } from './acp-dialogue.ts'
import { type AcpTurnFacts, AcpView, costBefore, isOfTurn } from './acp-view.ts'
import { findCommand, programOf } from './agent-program.ts'
import type { AcpAgentSpec } from './agent-spec.ts'
import { asInstructions, newInstructions } from './instructions.ts'
import { AcpNativeSessions } from './native-sessions.ts'
import { applySettings, contentOf, openConversation } from './open-conversation.ts'
import { cancelled, unheldByAcp } from './permissions.ts'

export interface AcpHarnessOptions {
  spec: AcpAgentSpec
  meta: HarnessMeta
  capabilities: HarnessCapabilities
  options?: (HarnessOptions & Pick<AcpConfig, 'handshakeMs' | 'conversationsMs' | 'stop'>) | undefined
}

interface Context {
  agent: AgentName
  spec: AcpAgentSpec
  meta: HarnessMeta
  capabilities: HarnessCapabilities
  config: AcpConfig
  environment: Record<string, string>
  pool: KeptAgents<AcpAgent>
  keepAlive: boolean
  /** Whether the agent that was started last takes messages into a running turn. */
  announced: { steering?: boolean }
  /** The running totals of conversations, for agents that go on counting in a new process. */
  costs: Map<string, number>
}

/** Runs any agent that speaks the Agent Client Protocol: one process for each session, kept between turns. */
export function acpHarness({ spec, meta, capabilities, options = {} }: AcpHarnessOptions): SessionHarness {
  const agent: AgentName = { harnessId: meta.id, name: meta.name }
  const { keepMemory, keepAlive = true } = options
  const context: Context = {
    agent,
    spec,
    meta,
    capabilities,
    keepAlive,
    costs: new Map(),
    announced: {},
    config: options,
    environment: processEnv(options.environment),
    pool: new KeptAgents<AcpAgent>({ agent, keepMemory }),
  }
  const { pool } = context
  const nativeSessions = new AcpNativeSessions(context)
  return createHarness({
    meta,
    models: [],
    get capabilities() {
      const { steering = capabilities.supportsSteering } = context.announced
      return { ...capabilities, supportsSteering: steering }
    },
    installStatus: () => installStatus(context),
    query: query => queryAcp(query, context),
    plan: turn => new AcpTurnPlan(turn, context),
    adopt: turn => adoptedPlan(turn, context),
    kept: {
      kill: sessionId => pool.kill(sessionId),
      release: sessionId => pool.release(sessionId),
      close: async turnsEnded => {
        await Promise.all([nativeSessions.close(), pool.close(turnsEnded)])
      },
    },
    prewarm: (turn, signal) => prewarm(turn, context, signal),
    contextUsage: async sessionId => pool.get(sessionId)?.context,
    slashCommands: async () => {
      const names = pool.all().flatMap(({ slashCommands }) => slashCommands)
      const first = new Map(names.map(command => [command.name, command]))
      return [...first.values()].map(command => ({ ...command, type: 'slash_command' as const }))
    },
    unheldRules: unheldByAcp(meta.name),
    ...(meta.nativeSessions === meta.id ? { nativeSessions } : {}),
  })
}

async function installStatus({ spec, meta, environment }: Context): Promise<HarnessInstallStatus> {
  const path = await findCommand(spec, environment)
  if (path === undefined) {
    const authInstructions = `There is no program ${spec.command}. ${meta.install ?? ''}`.trim()
    return { installed: false, authType: 'none', authenticated: false, authInstructions }
  }
  // Whether it is logged in only the agent knows, and it tells when a conversation is opened.
  return { installed: true, path, authType: 'unknown', authenticated: true }
}

/** An option that the protocol has no word for is refused, never dropped. */
function check(query: HarnessQuery, { agent, capabilities, spec }: Context): void {
  const refuse = (field: string, why: string) => {
    throw new HarnessError(`${field}: ${spec.title ?? spec.name} ${why}`, 'unsupported', agent.harnessId)
  }
  const named = 'has no tools that could be allowed or denied by name. Use a permission mode instead.'
  for (const field of ['tools', 'allowedTools', 'disallowedTools'] as const) {
    const value = query[field]
    if (value !== undefined && value !== 'default' && value.length > 0) refuse(field, named)
  }
  if (query.systemPrompt !== undefined) refuse('systemPrompt', 'keeps its own.')
  if (query.maxTurns !== undefined && query.maxTurns !== null) refuse('maxTurns', 'counts no rounds.')
  if (query.maxBudgetUsd !== undefined) refuse('maxBudgetUsd', 'takes no budget.')
  if (query.fallbackModel !== undefined) refuse('fallbackModel', 'has none.')
  if (query.outputSchema !== undefined) refuse('outputSchema', 'takes none.')
  if (query.continueLast) refuse('continueLast', 'needs the id of the conversation.')
  if (query.forkAt !== undefined) refuse('forkAt', 'cannot cut a conversation.')
  if (query.clientTools && !capabilities.supportsClientTools)
    refuse('clientTools', 'asks before each call of a tool server, in words that cannot be told apart.')
  if (query.forkSession && !capabilities.supportsFork) refuse('forkSession', 'cannot copy a conversation.')
  if (query.permissionMode === 'plan' && !capabilities.supportsReadOnly)
    refuse('permissionMode plan', 'has no mode that only reads.')
}

async function launchOf(
  query: HarnessQuery,
  { sessionId, distinct }: { sessionId: string; distinct: string },
  { agent, spec, meta, config, environment, keepAlive, announced }: Context,
): Promise<AgentLaunch<AcpAgent>> {
  await checkDirectory('The project folder', query.cwd, agent.harnessId)
  for (const directory of query.additionalDirectories ?? [])
    await checkDirectory('The extra folder', directory, agent.harnessId)
  const { command, env } = await programOf({ spec, meta, environment }, query.env)
  const { cwd, projectRoot = cwd, additionalDirectories = [] } = query
  const key = createHash('sha256')
    .update(
      JSON.stringify([sessionId, command, spec.args, env, cwd, projectRoot, additionalDirectories, distinct]),
    )
    .digest('hex')
  const options = { agent, command, args: spec.args, env, cwd, projectRoot, label: sessionId, config }
  return {
    key,
    isShortLived: distinct !== '' || !keepAlive,
    start: async signal => {
      const started = await AcpAgent.start(options, signal)
      announced.steering = started.hello.canSteer
      return started
    },
  }
}

/** One turn: the agent of the session is acquired, its conversation opened, and the message sent. */
class AcpTurnPlan implements TurnPlan {
  readonly agent: AgentName
  readonly config: AcpConfig
  readonly signal: AbortSignal
  readonly resumedId: string | undefined
  readonly #turn: NewTurn
  readonly #context: Context
  readonly #undo: (() => unknown)[] = []
  #lease: AgentLease<AcpAgent> | undefined

  constructor(turn: NewTurn, context: Context) {
    this.agent = context.agent
    this.config = context.config
    this.signal = turn.query.signal
    this.resumedId = turn.query.resumeSessionId
    this.#turn = turn
    this.#context = context
  }

  async prompt(): Promise<TurnPrompt> {
    const { prompt } = this.#turn.query
    check(this.#turn.query, this.#context)
    const parts = typeof prompt === 'string' ? [{ type: 'text' as const, text: prompt }] : prompt
    const promptText = parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
    const attachments = parts.filter(({ type }) => type !== 'text').length
    if (promptText.trim() !== '' || attachments > 0) return { promptText, attachments }
    const message = 'The prompt is empty. Say what the agent should do.'
    throw new HarnessError(message, 'invalid_query', this.agent.harnessId)
  }

  async open(parts: TurnParts): Promise<RpcTurn | null> {
    const { stop } = parts
    const { session, query } = this.#turn
    const served = await serveClientTools(query, this.agent.harnessId)
    this.#undo.push(served.stop)
    const hasServers = Object.keys(served.mcpServers).length > 0
    // A conversation keeps the servers that it was opened with.
    const distinct = hasServers ? randomUUID() : ''
    try {
      const launch = await launchOf(query, { sessionId: session.id, distinct }, this.#context)
      if (stop.reason) return null
      const { pool } = this.#context
      const lease = await pool.acquire({ sessionId: session.id, launch, signal: stop.signal })
      this.#lease = lease
      this.#undo.push(() => lease.release())
      return await this.#converse(lease, parts, served)
    } catch (error) {
      // An agent that does not answer must not be asked again by the next turn.
      if (!(error instanceof HarnessError)) await this.#lease?.agent.stop({ interruptGraceMs: 0 })
      if (stop.reason) return null
      throw error
    }
  }

  async release(): Promise<void> {
    for (let step = this.#undo.pop(); step; step = this.#undo.pop())
      await Promise.resolve(step()).catch(() => {})
  }

  over(): void {
    const { session, opts } = this.#turn
    const { conversation, costUsd } = this.#lease?.agent ?? {}
    if (conversation && costUsd !== undefined) this.#context.costs.set(conversation, costUsd)
    this.#lease?.afterTurn(exitListener(session.id, this.agent, opts.onBetweenTurns))
  }

  /** Everything that the agent is told before the message, and the exchange that sends it. */
  async #converse(
    lease: AgentLease<AcpAgent>,
    parts: TurnParts,
    served: { mcpServers: NonNullable<HarnessQuery['mcpServers']>; serverName?: string },
  ): Promise<RpcTurn> {
    const { session, query, opts } = this.#turn
    const { signal } = parts.stop
    const process = lease.agent
    const content = await contentOf(process, query.prompt)
    const opened = await openConversation(process, query, served.mcpServers, signal)
    const { model } = await applySettings(process, query, this.#context.spec.modes ?? {}, signal)
    const instructions = newInstructions(process, query)
    const account = opened.lostId === undefined ? undefined : query.account
    const before = [instructions && asInstructions(instructions), account && withAccount(account, '')]
    const texts = before.flatMap(text => (text ? [{ type: 'text', text }] : []))
    // Messages that come before the turn listens stay in order: they are taken with the unheard ones.
    const early: AcpMessage[] = []
    let hear = (message: AcpMessage): void => void early.push(message)
    const unheard = process.listen(message => hear(message))
    const facts = this.#facts({ process, model, opened, unheard: unheard.map(({ offset }) => offset) })
    parts.record.begin(process.process.spoolPath, facts)
    if (parts.record.isKept) {
      const traced = await traceProcess(process.process, Math.min(facts.from, ...facts.unheard))
      parts.record.tell({ ...traced, nativeSessionIds: [opened.id] })
    }
    const dialogue = new AcpDialogue({
      session,
      agent: process,
      query,
      content: [...texts, ...content],
      instructions,
      facts,
      guard: opts.guard,
      ownServer: served.serverName ?? '',
      unheard: [...unheard, ...early],
    })
    hear = dialogue.hear
    const interruptGraceMs = this.config.stop?.interruptGraceMs ?? 5_000
    return new RpcTurn(dialogue, { session, agent: this.agent, lease, parts, interruptGraceMs })
  }

  /** A later server adopts the turn by these; they are stored as JSON, which has no undefined. */
  #facts(given: {
    process: AcpAgent
    model: string
    opened: { id: string; lostId?: string }
    unheard: number[]
  }): AcpTurnFacts {
    const { turnId, query } = this.#turn
    const { process, model, opened, unheard } = given
    return {
      turnId,
      conversation: opened.id,
      model,
      cwd: query.cwd,
      promptId: process.nextId,
      from: process.position,
      unheard,
      harness: this.agent.harnessId,
      agentName: this.agent.name,
      ...costBefore(process, query, opened, this.#context),
      version: process.hello.version,
      permissionMode: query.permissionMode,
      lostId: opened.lostId,
      partialMessages: query.includePartialMessages,
    }
  }
}

async function prewarm(
  { session, query, opts }: NewTurn,
  context: Context,
  signal: AbortSignal,
): Promise<void> {
  const hasServers = Object.keys(query.mcpServers ?? {}).length > 0 || (query.clientTools?.length ?? 0) > 0
  if (hasServers || !context.keepAlive) return
  const launch = await launchOf(query, { sessionId: session.id, distinct: '' }, context)
  const lease = await context.pool.acquire({ sessionId: session.id, launch, signal })
  try {
    opts.onProcess?.(await traceProcess(lease.agent.process))
  } finally {
    await lease.release()
  }
}

/** An agent ends with the server whose input it reads, so there is no running turn to continue. */
function adoptedPlan({ session, trace }: BegunTurn, { agent, config }: Context): TurnPlan {
  const find = async ({ record, log }: TurnParts): Promise<EndedAgent> => {
    const traced = trace.processes.at(-1)
    if (!traced)
      throw new Error('Chirality was ended before the agent had the message. Send the message again.')
    try {
      log.write('info', 'process:adopt', { pid: traced.pid, spool: traced.spoolPath })
      const process = await adoptAgent({
        process: traced,
        projectRoot: session.projectRoot,
        harness: agent.harnessId,
      })
      await process.stop({ ...config.stop, interruptGraceMs: 0 })
      const { facts: known, notes } = await record.resume(traced.spoolPath)
      if (typeof known.conversation !== 'string')
        throw new Error('The record of the turn names no conversation, so the turn cannot be told again.')
      const facts = known as AcpTurnFacts
      const view = new AcpView(session, facts)
      const stopped = `Chirality was ended while ${agent.name} worked, and ${agent.name} ended with it. What it did so far is kept.`
      return {
        process,
        opening: [...view.opening()],
        notes,
        show: line => {
          if (line.kind !== 'json' || !isOfTurn(facts, line.offset)) return undefined
          const events = view.show(line.value)
          return { events, isLast: view.outcome !== null }
        },
        end: () => view.end(),
        outcome: () => view.outcome,
        fault: () => (process.fault === null ? stopped : `${stopped} ${process.fault}`),
        stop: () => stopTraced(traced, config.stop),
      }
    } catch (error) {
      await stopTraced(traced, config.stop)
      throw error
    }
  }
  return toldPlan({ agent, config, trace, find })
}

/** One prompt without a session, as the messages of the agent. */
async function* queryAcp(query: HarnessQuery, context: Context): AsyncGenerator<HarnessEvent<unknown>> {
  check(query, context)
  if (query.signal.aborted) return
  const served = await serveClientTools(query, context.agent.harnessId)
  const waiting: AcpMessage[] = []
  let wake = () => {}
  let started: AcpAgent | undefined
  try {
    const launch = await launchOf(query, { sessionId: 'query', distinct: randomUUID() }, context)
    const agent = await launch.start(query.signal)
    started = agent
    const opened = await openConversation(agent, query, served.mcpServers, query.signal)
    yield { type: 'session_started', sessionId: opened.id }
    await applySettings(agent, query, context.spec.modes ?? {}, query.signal)
    const content = await contentOf(agent, query.prompt)
    agent.listen(message => {
      waiting.push(message)
      wake()
    })
    const { id, answered } = agent.prompt({ sessionId: opened.id, prompt: content })
    let end: HarnessEvent<unknown> | undefined
    answered.catch(() => {})
    void agent.ended.then(() => wake())
    query.signal.addEventListener('abort', () => wake(), { once: true })
    while (!end && !query.signal.aborted && (agent.isUsable || waiting.length > 0)) {
      const message = waiting.shift()
      if (!message) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
        continue
      }
      agent.taken(message)
      yield { type: 'message', message: message.raw }
      if (message.request) agent.respond(message.request.id, cancelled(message.request.method))
      const raw = message.raw as { id?: unknown; error?: { message?: unknown } }
      if (raw.id === id && !message.request)
        end = raw.error ? { type: 'error', error: String(raw.error.message) } : { type: 'complete' }
    }
    if (query.signal.aborted) return
    yield end ?? {
      type: 'error',
      error: `${context.agent.name} ended without an answer.`,
      code: 'process_crashed',
    }
  } finally {
    await started?.stop({ interruptGraceMs: 0 })
    await started?.ended
    await served.stop()
  }
}
