import { randomUUID } from 'node:crypto'
import {
  type ClaudeEvent,
  HarnessError,
  type HarnessEvent,
  type HarnessInstallStatus,
  HarnessNotInstalledError,
  type HarnessQuery,
  versionSupport,
} from '@chirality/core'
import type { ClaudeContext } from '../claude-code/config.ts'
import { warmClaudeAgent } from '../claude-code/harness.ts'
import { claudeInstallStatus } from '../claude-code/install/install-status.ts'
import { promptMessage } from '../claude-code/launch/prompt.ts'
import { type ClaudeQueryContext, queryEvents } from '../claude-code/run/query.ts'
import { type ClaudeRequest, type ClaudeResponse, runClaudeOnce } from '../claude-code/run/run-once.ts'
import type { LiveClaude } from '../claude-code/warm/live-claude.ts'
import { liveLaunch } from '../claude-code/warm/live-launch.ts'
import { ControlRequests } from '../claude-code/warm/requests.ts'
import { processEnv } from '../process/system/process-env.ts'
import { AgentHarness, type Offered } from '../turn/create-harness.ts'
import { Questions } from '../turn/questions.ts'
import { describeExit } from '../turn/turn-events.ts'
import { AGENT_SDK, type AgentSdkHarnessConfig, findAgentSdk } from './config.ts'
import { AGENT_SDK_ID, AGENT_SDK_META, SDK_VERSIONS } from './descriptor.ts'
import { sdkVariant } from './variant.ts'

/** Runs Claude through the Agent SDK in a Worker. Its output is read and translated like Claude Code's. */
export class AgentSdkHarness extends AgentHarness<ClaudeEvent> {
  declare readonly adoptTurn: Offered<'adoptTurn'>
  declare readonly listNativeSessions: Offered<'listNativeSessions'>
  declare readonly importSession: Offered<'importSession'>
  declare readonly projectFiles: Offered<'projectFiles'>
  declare readonly steer: Offered<'steer'>
  declare readonly prewarm: Offered<'prewarm'>
  declare readonly setPermissionMode: Offered<'setPermissionMode'>
  declare readonly contextUsage: Offered<'contextUsage'>
  readonly #context: ClaudeContext

  constructor(config: AgentSdkHarnessConfig = {}) {
    const environment = processEnv(config.environment)
    const context = { config, environment, variant: sdkVariant(config) }
    super({
      ...warmClaudeAgent(context),
      meta: AGENT_SDK_META,
      installStatus: signal => sdkInstallStatus(context, signal),
      query: query => querySdk(query, context),
    })
    this.#context = context
  }

  /** Runs one prompt to its complete answer, through the SDK and its hooks. */
  run(request: ClaudeRequest): Promise<ClaudeResponse> {
    return runClaudeOnce(request, { ...this.#context, ask: querySdk })
  }
}

/** The agent's status, with the version of the SDK; both are required. */
async function sdkInstallStatus(
  context: ClaudeContext & { config: AgentSdkHarnessConfig },
  signal: AbortSignal,
): Promise<HarnessInstallStatus> {
  try {
    const { version } = findAgentSdk(context.config.sdkPath)
    const status = await claudeInstallStatus(context, signal)
    const support = versionSupport(version, SDK_VERSIONS)
    return status.installed ? { ...status, version, support } : status
  } catch (error) {
    if (!(error instanceof HarnessNotInstalledError)) throw error
    const { instructions: authInstructions } = error
    return { installed: false, authType: 'none', authenticated: false, authInstructions }
  }
}

/** One turn as native events, in an agent that ends with it. Permission requests are denied, as in Claude Code. */
async function* querySdk(
  query: HarnessQuery,
  context: ClaudeQueryContext,
): AsyncGenerator<HarnessEvent<ClaudeEvent>> {
  if (query.signal.aborted) return
  if (context.extraArgs && context.extraArgs.length > 0)
    throw new HarnessError(
      'extraArgs: the Agent SDK writes the command line itself.',
      'unsupported',
      AGENT_SDK_ID,
    )
  const { content } = await promptMessage(query.prompt, AGENT_SDK)
  const sessionId = context.label ?? query.resumeSessionId ?? query.newSessionId ?? 'query'
  const stderr: string[] = []
  const onStderr = (line: string) => void stderr.push(line)
  const names = { sessionId, turnId: randomUUID(), onStderr }
  const launch = liveLaunch(query, { context, asks: false, guard: undefined, ...names })
  let live: LiveClaude
  try {
    live = await launch.start(query.signal)
  } catch (error) {
    if (query.signal.aborted) return
    throw error
  }
  const onAbort = () => void live.stop({ interruptGraceMs: 0 })
  query.signal.addEventListener('abort', onAbort, { once: true })
  try {
    if (query.signal.aborted) onAbort()
    context.onSpool?.(live.process.spoolPath)
    await live.send(content, randomUUID())
    yield* startedFirst(answer(live, stderr, query.signal))
  } finally {
    query.signal.removeEventListener('abort', onAbort)
    await (live.shownRest.reached ? live.dismiss() : live.stop({ interruptGraceMs: 0 }))
  }
}

async function* answer(
  live: LiveClaude,
  stderr: string[],
  signal: AbortSignal,
): AsyncGenerator<HarnessEvent<ClaudeEvent>> {
  // The SDK always makes its agent ask; without an answer the agent would wait forever.
  const requests = new ControlRequests(live)
  const questions = new Questions({ requests, decide: undefined, tell: () => {} })
  for await (const item of live.inbox.read()) {
    yield* told(stderr)
    if (item.kind !== 'record' || item.event === null) continue
    live.taken(item)
    const events = live.translator.translate(item.event)
    requests.see(item.event, events)
    for (const event of events) questions.see(event)
    yield* queryEvents(item.event, live.translator.outcome)
    if (live.shownRest.reached) return
  }
  yield* told(stderr)
  // An abort by the caller is an end, not a failure.
  if (signal.aborted) return
  const { exit, stderr: said } = await live.ended
  yield { type: 'error', error: describeExit(AGENT_SDK.name, exit, said), code: 'process_crashed' }
}

function told(stderr: string[]): HarnessEvent<ClaudeEvent>[] {
  return stderr.splice(0).map(line => ({ type: 'stderr', data: line }))
}

/** Moves the start of the conversation before the requests that the SDK exchanges with its agent first. */
async function* startedFirst(
  events: AsyncIterable<HarnessEvent<ClaudeEvent>>,
): AsyncGenerator<HarnessEvent<ClaudeEvent>> {
  const held: HarnessEvent<ClaudeEvent>[] = []
  let hasStarted = false
  for await (const event of events) {
    if (!hasStarted && event.type === 'message') held.push(event)
    else {
      hasStarted ||= event.type !== 'stderr'
      yield event
      if (hasStarted) yield* held.splice(0)
    }
  }
  yield* held
}
