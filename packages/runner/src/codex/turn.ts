import type { HarnessQuery, HarnessTurnOpts, Session, UIEvent } from '@chirality/core'
import type { AppServerPool } from './app-server-pool.ts'
import { AppServerTurn } from './app-server-turn.ts'
import type { CodexContext } from './config.ts'
import { type CodexInput, codexInput } from './input.ts'
import { appServerLaunch, codexProgram } from './launch.ts'
import { codexMcpServers } from './mcp-servers.ts'
import { codexPermissions } from './permissions.ts'

export interface CodexTurnOptions {
  session: Session
  message: string
  opts: HarnessTurnOpts
  context: CodexContext
  pool: AppServerPool
}

/** One turn of a session, through whichever voice Codex has. */
export class CodexTurn {
  readonly #options: CodexTurnOptions
  #voice: AppServerTurn | null = null

  constructor(options: CodexTurnOptions) {
    this.#options = options
  }

  interrupt(): void {
    this.#voice?.interrupt()
  }

  kill(): void {
    this.#voice?.kill()
  }

  async *events(): AsyncGenerator<UIEvent> {
    const query = turnQuery(this.#options)
    const input = await codexInput(query.prompt)
    try {
      yield* this.#overAppServer(query, input)
    } finally {
      await input.cleanup()
    }
  }

  async *#overAppServer(query: HarnessQuery, input: CodexInput): AsyncGenerator<UIEvent> {
    const { session, opts, context, pool } = this.#options
    const program = await codexProgram(query, context)
    const { config } = codexMcpServers(query.mcpServers ?? {}, () => true)
    const threadConfig = Object.keys(config).length > 0 ? { mcp_servers: config } : {}
    const launch = appServerLaunch(program, context, { projectRoot: session.projectRoot, distinct: '' })
    const lease = await pool.acquire(session.id, launch)
    const voice = new AppServerTurn({
      session,
      query,
      lease,
      input,
      permissions: codexPermissions(query),
      threadConfig,
      decide: opts.decide,
      stallMs: opts.stallMs ?? STALL_MS,
      interruptGraceMs: context.config.stop?.interruptGraceMs ?? INTERRUPT_GRACE_MS,
    })
    this.#voice = voice
    try {
      yield* voice.events()
    } finally {
      lease.release()
    }
  }
}

const STALL_MS = 120_000
const INTERRUPT_GRACE_MS = 5_000

function turnQuery({ session, message, opts }: CodexTurnOptions): HarnessQuery {
  const images = opts.images?.map(source => ({ type: 'image' as const, source })) ?? []
  return {
    prompt: images.length > 0 ? [{ type: 'text', text: message }, ...images] : message,
    cwd: session.projectRoot,
    resumeSessionId: session.claudeSessionId ?? undefined,
    forkSession: opts.forkSession,
    mode: 'read-only',
    permissionMode: opts.permissionMode ?? 'dontAsk',
    appendSystemPrompt: opts.systemPromptAppend,
    model: opts.model,
    thinking: opts.thinking,
    mcpServers: opts.mcpServers,
    clientTools: opts.clientTools,
    additionalDirectories: opts.additionalDirectories,
    outputSchema: opts.outputSchema,
    env: opts.env,
    signal: opts.signal ?? new AbortController().signal,
  }
}
