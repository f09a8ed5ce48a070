import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import {
  type CodexTranslator,
  createCodexExecTranslator,
  type HarnessQuery,
  type NdjsonRecord,
  type PermissionMode,
  type StatusEvent,
  type UIEvent,
  type UsageInfo,
} from '@chirality/core'
import { makeTempFolder } from '../../process/spool/temp-folder.ts'
import { serveClientTools } from '../../tool-server/serve-client-tools.ts'
import type {
  Invocation,
  ReaderOptions,
  TurnFacts,
  TurnOutcome,
  TurnProgram,
  TurnReader,
} from '../../turn/turn-program.ts'
import { CODEX, type CodexContext } from '../config.ts'
import { CODEX_ID, CODEX_VERSIONS } from '../descriptor.ts'
import { heldThreadAdvice, isLostThread } from '../options/check-query.ts'
import { codexInput } from '../options/input.ts'
import { areInstructionsTold, withInstructions } from '../options/instructions.ts'
import { codexMcpServers } from '../options/mcp-servers.ts'
import { type CodexListeners, type CodexSandbox, execPermissions } from '../options/permissions.ts'
import { codexProgram } from '../program/launch.ts'
import { overrideArgs } from '../program/overrides.ts'
import { buildExecArgs, type ExecArgInput } from './exec-args.ts'
import { readThreadFacts } from './thread-facts.ts'

/**
 * The turn needs permission requests or rules, which `exec` does not support: it gets a stricter sandbox and emits a
 * notice.
 */
export type ExecOptions = CodexListeners

/** Codex as an agent that runs one `exec` for each turn. It streams no tokens and sends no permission requests. */
export function execProgram(context: CodexContext, options: ExecOptions = {}): TurnProgram {
  return {
    ...CODEX,
    versions: CODEX_VERSIONS,
    config: { ...context.config, stop: { interruptGraceMs: INTERRUPT_GRACE_MS, ...context.config.stop } },
    prepare: query => prepareExec(query, context, options),
    lostSession: isLostThread,
    explain: (stderr, threadId) => {
      const error = heldThreadAdvice(stderr, threadId)
      return error === undefined ? undefined : { error, code: 'unknown' }
    },
    reader: options => new ExecReader({ ...options, lingerMs: context.config.lingerMs }),
  }
}

/** It obeys SIGINT within 0.1 s, or never: while it opens the thread, SIGINT is lost. */
const INTERRUPT_GRACE_MS = 1_500

export interface ExecInvocation extends Invocation {
  facts: ExecFacts
}

/** Undoes its steps in reverse order, also if one fails. The query is already checked. */
export async function prepareExec(
  query: HarnessQuery,
  context: CodexContext,
  { asks = false, hasRules = false }: ExecOptions = {},
): Promise<ExecInvocation> {
  const undo: (() => Promise<void>)[] = []
  const cleanup = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const input = await codexInput(query.prompt, context.environment)
    undo.push(input.cleanup)
    const program = await codexProgram(query, context)
    const served = await serveClientTools(query, CODEX_ID)
    undo.push(served.stop)
    const { sandbox, approval } = execPermissions(query, { asks, hasRules })
    // `exec` cannot ask the user, so only the caller's own tools are approved; those of other MCP servers are denied.
    const isApproved = (name: string) => approval === 'never' || name === served.serverName
    const own = served.serverName
    const mcp = codexMcpServers(served.mcpServers, { values: 'env', isApproved, own })
    const files = await writeFiles(query, context, undo)
    const before = await readThreadFacts(query.resumeSessionId, program.env)
    const args = buildExecArgs({
      query: { ...query, model: query.model ?? before.model },
      sandbox,
      overrides: overrideArgs(context, program.overrides),
      mcpServers: mcp.config,
      hidden: Object.keys(mcp.env),
      images: input.images,
      ...files,
    })
    const { text: promptText, images } = input
    return {
      ...program,
      env: { ...program.env, ...mcp.env },
      args,
      cwd: query.cwd,
      stdin: await instructed(query, promptText.trim() === '' ? IMAGES_ALONE : promptText, program.env),
      promptText,
      attachments: images.length,
      version: program.features.version,
      cleanup,
      facts: {
        model: query.model ?? before.model,
        cwd: query.cwd,
        permissionMode: query.permissionMode,
        expectsJson: query.outputSchema !== undefined,
        usageBefore: before.usage,
        ...(asks || hasRules ? { unasked: sandbox } : {}),
      },
    }
  } catch (error) {
    await cleanup()
    throw error
  }
}

/**
 * Added instructions go with the message, unless the thread already has them as its last ones. Otherwise `exec` reads
 * them only from its command line, which everyone on the machine can read, or from the user's config; and for a resumed
 * thread it reads none.
 */
async function instructed(
  { appendSystemPrompt: text, resumeSessionId }: HarnessQuery,
  prompt: string,
  environment: Record<string, string>,
): Promise<string> {
  if (!text) return prompt
  const threadId = resumeSessionId
  const isTold = threadId !== undefined && (await areInstructionsTold(text, { threadId, environment }))
  return isTold ? prompt : withInstructions(text, prompt)
}

/** `exec` rejects images without text. */
const IMAGES_ALONE = 'See what is attached.'

/** Readable by the owner only. */
async function writeFiles(
  { systemPrompt, outputSchema }: HarnessQuery,
  { environment }: CodexContext,
  undo: (() => Promise<void>)[],
): Promise<Pick<ExecArgInput, 'systemPromptFile' | 'outputSchemaFile'>> {
  if (!systemPrompt && !outputSchema) return {}
  const folder = await makeTempFolder(environment, CODEX_ID)
  undo.push(() => rm(folder, { recursive: true, force: true }))
  const write = async (name: string, text: string) => {
    const file = path.join(folder, name)
    await writeFile(file, text, { mode: 0o600 })
    return file
  }
  return {
    ...(systemPrompt ? { systemPromptFile: await write('system-prompt.md', systemPrompt) } : {}),
    ...(outputSchema ? { outputSchemaFile: await write('schema.json', JSON.stringify(outputSchema)) } : {}),
  }
}

/** Facts that `exec` does not print. */
interface ExecFacts extends TurnFacts {
  model?: string
  cwd?: string
  permissionMode?: PermissionMode
  expectsJson?: boolean
  /** The thread's tokens before the turn: `exec` prints only the total. */
  usageBefore?: UsageInfo
  /** The sandbox, if the user wanted to be asked and cannot be. */
  unasked?: CodexSandbox
}

interface ExecReaderOptions extends ReaderOptions {
  lingerMs?: number
}

/** Reads the output of one `codex exec --json`. */
class ExecReader implements TurnReader {
  readonly #options: ExecReaderOptions
  readonly #translator: CodexTranslator
  #linger: NodeJS.Timeout | undefined
  #hasBegun = false

  constructor(options: ExecReaderOptions) {
    const { sessionId, turnId } = options
    const { usageBefore, model, cwd, permissionMode, expectsJson } = options.facts as ExecFacts
    this.#options = options
    const agent = { model, cwd, permissionMode }
    this.#translator = createCodexExecTranslator({ sessionId, turnId, usageBefore, agent, expectsJson })
  }

  read(record: NdjsonRecord): UIEvent[] {
    const events = this.#translator.translateRecord(record)
    clearTimeout(this.#linger)
    const { lingerMs = LINGER_MS, onLinger } = this.#options
    if (this.rested) this.#linger = setTimeout(onLinger, lingerMs)
    return [...this.#opening(), ...events]
  }

  /** Emitted here and not by the turn, so that an adopted turn emits it too. */
  #opening(): UIEvent[] {
    const { unasked } = this.#options.facts as ExecFacts
    if (this.#hasBegun || unasked === undefined) return []
    this.#hasBegun = true
    return [cannotAsk(this.#options.sessionId, unasked)]
  }

  end(): UIEvent[] {
    return this.#translator.end()
  }

  close(): void {
    clearTimeout(this.#linger)
  }

  get outcome(): TurnOutcome | null {
    return this.#translator.outcome
  }

  get answered(): boolean {
    return this.#translator.outcome !== null
  }

  get rested(): boolean {
    return this.answered
  }
}

function cannotAsk(sessionId: string, sandbox: CodexSandbox): StatusEvent {
  const may = sandbox === 'read-only' ? 'it can only read' : `its sandbox is ${sandbox}`
  const message = `This Codex has no app-server that answers, and without one it can ask nobody. In this turn ${may}; what would need leave is refused.`
  return { type: 'status', sessionId, status: 'notice', level: 'warn', message, data: { sandbox } }
}

/** MCP servers shut down after the answer; the session is blocked meanwhile. */
const LINGER_MS = 10_000
