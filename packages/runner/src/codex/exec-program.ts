import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createCodexExecTranslator, type HarnessQuery } from '@chirality/core'
import { serveClientTools } from '../tool-server/serve-client-tools.ts'
import type { Invocation, ReaderOptions, TurnProgram, TurnReader } from '../turn/turn-program.ts'
import { CODEX, type CodexContext, HARNESS_ID } from './config.ts'
import { buildExecArgs } from './exec-args.ts'
import { codexInput } from './input.ts'
import { codexProgram } from './launch.ts'
import { codexMcpServers } from './mcp-servers.ts'
import { overrideArgs } from './overrides.ts'
import { refuseUnsupported } from './unsupported.ts'

/** Codex as an agent that runs one `exec` a turn. It streams no tokens and asks nobody. */
export function execProgram(context: CodexContext): TurnProgram {
  return {
    ...CODEX,
    config: context.config,
    prepare: query => prepareExec(query, context),
    lostSession: stderr => /no rollout found/i.test(stderr),
    reader: execReader,
  }
}

/** Takes apart in reverse what it put together, also when a step fails. */
export async function prepareExec(query: HarnessQuery, context: CodexContext): Promise<Invocation> {
  refuseUnsupported(query)
  const undo: (() => Promise<void>)[] = []
  const cleanup = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const input = await codexInput(query.prompt)
    undo.push(input.cleanup)
    const program = await codexProgram(query, context)
    const served = await serveClientTools(query, HARNESS_ID)
    undo.push(served.stop)
    // Nobody can be asked, so what the query brings along may be used.
    const mcp = codexMcpServers(served.mcpServers, { tokens: 'env', isApproved: () => true })
    const schema = await schemaFile(query, undo)
    const args = buildExecArgs({
      query,
      overrides: overrideArgs(context),
      mcpServers: mcp.config,
      images: input.images,
      ...(schema ? { outputSchemaFile: schema } : {}),
    })
    const env = { ...program.env, ...mcp.env }
    const { text: promptText, images } = input
    return {
      ...program,
      env,
      args,
      cwd: query.cwd,
      stdin: promptText,
      promptText,
      attachments: images.length,
      cleanup,
    }
  } catch (error) {
    await cleanup()
    throw error
  }
}

function execReader({ sessionId, turnId, query }: ReaderOptions): TurnReader {
  const translator = createCodexExecTranslator({
    sessionId,
    turnId,
    agent: { model: query.model, cwd: query.cwd },
    expectsJson: query.outputSchema !== undefined,
  })
  return {
    read: record => translator.translateRecord(record),
    end: () => translator.end(),
    close: () => {},
    get outcome() {
      return translator.outcome
    },
    get answered() {
      return translator.outcome !== null
    },
    get rested() {
      return translator.outcome !== null
    },
  }
}

async function schemaFile(query: HarnessQuery, undo: (() => Promise<void>)[]): Promise<string | undefined> {
  if (!query.outputSchema) return undefined
  const folder = await mkdtemp(path.join(tmpdir(), 'chirality-'))
  undo.push(() => rm(folder, { recursive: true, force: true }))
  const file = path.join(folder, 'schema.json')
  await writeFile(file, JSON.stringify(query.outputSchema), { mode: 0o600 })
  return file
}
