import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { HarnessQuery, JsonSchema } from '@chirality/core'
import { serveClientTools } from '../tool-server/serve-client-tools.ts'
import { makeTempFolder } from '../turn/temp-folder.ts'
import type { Invocation, TurnProgram } from '../turn/turn-program.ts'
import { CODEX, type CodexContext, HARNESS_ID } from './config.ts'
import { buildExecArgs } from './exec-args.ts'
import { type ExecFacts, ExecReader } from './exec-reader.ts'
import { codexInput } from './input.ts'
import { codexProgram } from './launch.ts'
import { codexMcpServers } from './mcp-servers.ts'
import { overrideArgs } from './overrides.ts'
import { codexPermissions } from './permissions.ts'
import { readThreadFacts } from './thread-facts.ts'
import { heldThreadAdvice, isLostThread } from './thread-id.ts'

/** Codex as an agent that runs one `exec` a turn. It streams no tokens and asks nobody. */
export function execProgram(context: CodexContext): TurnProgram {
  return {
    ...CODEX,
    config: { ...context.config, stop: { interruptGraceMs: INTERRUPT_GRACE_MS, ...context.config.stop } },
    prepare: query => prepareExec(query, context),
    lostSession: isLostThread,
    explain: (stderr, threadId) => {
      const error = heldThreadAdvice(stderr, threadId)
      return error === undefined ? undefined : { error, code: 'unknown' }
    },
    reader: options => new ExecReader({ ...options, lingerMs: context.config.lingerMs }),
  }
}

/** It obeys within 0.1 s, or never: in the moment in which it opens the thread SIGINT is lost. */
const INTERRUPT_GRACE_MS = 1_500

export interface ExecInvocation extends Invocation {
  facts: ExecFacts
}

/** Takes apart in reverse what it put together, also when a step fails. The query has been checked. */
export async function prepareExec(query: HarnessQuery, context: CodexContext): Promise<ExecInvocation> {
  const undo: (() => Promise<void>)[] = []
  const cleanup = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const input = await codexInput(query.prompt, context.environment)
    undo.push(input.cleanup)
    const program = await codexProgram(query, context)
    const served = await serveClientTools(query, HARNESS_ID)
    undo.push(served.stop)
    const { approval } = codexPermissions(query)
    // Where a person was to be asked, nobody can be: what is not the caller's own stays shut.
    const isApproved = (name: string) => approval === 'never' || name === served.serverName
    const mcp = codexMcpServers(served.mcpServers, { secrets: 'env', isApproved })
    const schema = query.outputSchema && (await writeSchema(query.outputSchema, context, undo))
    const before = await readThreadFacts(query.resumeSessionId, program.env)
    const args = buildExecArgs({
      query: { ...query, model: query.model ?? before.model },
      overrides: overrideArgs(context),
      mcpServers: mcp.config,
      hidden: Object.keys(mcp.env),
      images: input.images,
      ...(schema ? { outputSchemaFile: schema } : {}),
    })
    const { text: promptText, images } = input
    return {
      ...program,
      env: { ...program.env, ...mcp.env },
      args,
      cwd: query.cwd,
      stdin: instructed(query, promptText.trim() === '' ? IMAGES_ALONE : promptText),
      promptText,
      attachments: images.length,
      cleanup,
      facts: {
        model: query.model ?? before.model,
        cwd: query.cwd,
        permissionMode: query.permissionMode,
        expectsJson: query.outputSchema !== undefined,
        usageBefore: before.usage,
      },
    }
  } catch (error) {
    await cleanup()
    throw error
  }
}

/** A thread that is resumed keeps the instructions it began with: later ones can only come with the message. */
function instructed({ resumeSessionId, appendSystemPrompt }: HarnessQuery, prompt: string): string {
  if (resumeSessionId === undefined || !appendSystemPrompt) return prompt
  return `<system-instructions>\n${appendSystemPrompt}\n</system-instructions>\n\n${prompt}`
}

/** `exec` takes no images without words. */
const IMAGES_ALONE = 'See what is attached.'

async function writeSchema(
  schema: JsonSchema,
  { environment }: CodexContext,
  undo: (() => Promise<void>)[],
): Promise<string> {
  const folder = await makeTempFolder(environment, HARNESS_ID)
  undo.push(() => rm(folder, { recursive: true, force: true }))
  const file = path.join(folder, 'schema.json')
  await writeFile(file, JSON.stringify(schema), { mode: 0o600 })
  return file
}
