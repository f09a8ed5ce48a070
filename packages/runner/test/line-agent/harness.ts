import { HarnessError, type HarnessEvent, type HarnessQuery, type SessionHarness } from '@chirality/core'
import {
  adoptedAttempts,
  buildChildEnv,
  checkExecutable,
  createHarness,
  type HarnessOptions,
  type Invocation,
  processEnv,
  processPlan,
  queryProcess,
  serveClientTools,
  startedAttempts,
  type TurnProgram,
} from '@chirality/runner'
import { CAPABILITIES, META } from './descriptor.ts'
import { LineReader } from './reader.ts'

export interface LineAgentConfig extends HarnessOptions {
  /** Path of the program. */
  binary?: string
}

/** Runs the line agent: one process for each turn. */
export function lineHarness(config: LineAgentConfig = {}): SessionHarness {
  const { binary = 'line-agent', onLog } = config
  const source = processEnv(config.environment)
  const program: TurnProgram = {
    harnessId: META.id,
    name: META.name,
    config: { onLog },
    prepare: query => prepare(query, binary, source),
    lostSession: stderr => stderr.includes('There is no conversation'),
    reader: options => new LineReader(options),
  }
  return createHarness({
    meta: META,
    models: [{ id: 'line-model', label: 'Line model', isDefault: true }],
    capabilities: CAPABILITIES,
    installStatus: async () => {
      const { ok: installed } = await checkExecutable(binary)
      const authenticated = source.LINE_AGENT_KEY !== undefined
      return { installed, path: binary, authType: authenticated ? 'api-key' : 'none', authenticated }
    },
    plan: ({ session, turnId, query, opts }) => {
      refuseUnsupported(query)
      return processPlan({ program, session, turnId, source: startedAttempts(query, program), opts })
    },
    adopt: ({ session, trace, opts }) =>
      processPlan({
        program,
        session,
        turnId: trace.turnId,
        source: adoptedAttempts(trace, opts.signal),
        opts,
      }),
    query: query => ask(query, program),
  })
}

async function* ask(query: HarnessQuery, program: TurnProgram): AsyncGenerator<HarnessEvent<unknown>> {
  refuseUnsupported(query)
  const reader = new LineReader({ sessionId: '', turnId: '', facts: {}, onLinger: () => {} })
  yield* queryProcess<unknown>({
    agent: program,
    config: program.config,
    query,
    invocation: await program.prepare(query),
    read: record => {
      reader.read(record)
      return [{ type: 'message', message: record.kind === 'json' ? record.value : record }]
    },
    end: said => [
      reader.outcome?.reason === 'completed' ? { type: 'complete' } : { type: 'error', error: said },
    ],
  })
}

async function prepare(
  query: HarnessQuery,
  binary: string,
  source: Record<string, string>,
): Promise<Invocation> {
  const {
    prompt,
    resumeSessionId: resume,
    forkSession: fork,
    appendSystemPrompt: system,
    permissionMode,
  } = query
  const { mcpServers, serverName = '', stop } = await serveClientTools(query, META.id)
  const free = permissionMode === 'bypassPermissions'
  return {
    command: binary,
    args: [],
    env: buildChildEnv({ source, own: META.environment, extra: query.env }).env,
    cwd: query.cwd,
    stdin: JSON.stringify({ prompt, resume, fork, system, free, tools: mcpServers[serverName] }),
    promptText: String(prompt),
    attachments: 0,
    cleanup: stop,
  }
}

/** What the agent has no word for is refused, never dropped. */
function refuseUnsupported(query: HarnessQuery): void {
  const field = UNSUPPORTED.find(name => {
    const value = query[name]
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null
  })
  const refused =
    query.permissionMode === 'plan' ? 'permissionMode plan' : Array.isArray(query.prompt) ? 'images' : field
  if (refused) throw new HarnessError(`${META.name} has no word for ${refused}.`, 'unsupported', META.id)
}

const UNSUPPORTED = [
  'systemPrompt',
  'mcpServers',
  'tools',
  'allowedTools',
  'disallowedTools',
  'maxTurns',
  'maxBudgetUsd',
  'forkAt',
  'outputSchema',
] as const
