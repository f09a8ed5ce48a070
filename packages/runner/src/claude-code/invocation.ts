import type { HarnessQuery } from '@chirality/core'
import { HarnessError } from '@chirality/core'
import { buildChildEnv } from '../env/child-env.ts'
import { serveClientTools } from '../tool-server/serve-client-tools.ts'
import { checkDirectory } from '../turn/check-directory.ts'
import { startFailure } from '../turn/start-failure.ts'
import type { Invocation } from '../turn/turn-program.ts'
import { buildClaudeArgs, buildClaudeEnv, textsEnv } from './args.ts'
import { CLAUDE_CODE, type ClaudeContext, HARNESS_ID, type Launch } from './config.ts'
import { claudeVersion, findClaude, knowsSystemPromptSnapshot } from './executable.ts'
import { encodePrompt } from './prompt.ts'
import { writeTempFiles } from './temp-files.ts'

export interface InvocationContext extends ClaudeContext {
  extraArgs?: string[]
}

/** Checks the query, finds the binary and writes the files. Throws a HarnessError before anything is left behind. */
export async function prepareClaude(query: HarnessQuery, context: InvocationContext): Promise<Invocation> {
  try {
    return await prepare(query, context)
  } catch (error) {
    throw startFailure(error, CLAUDE_CODE)
  }
}

async function prepare(query: HarnessQuery, context: InvocationContext): Promise<Invocation> {
  const { inputFormat, stdin, text: promptText, attachments } = await encodePrompt(query.prompt)
  const launch = await prepareLaunch(query, context, inputFormat)
  const { command, args, env, cwd, cleanup } = launch
  return { command, args, env, cwd, cleanup, stdin, promptText, attachments }
}

/** The command without a prompt: that comes through stdin, at once or again and again. */
export async function prepareLaunch(
  query: HarnessQuery,
  context: InvocationContext,
  inputFormat: 'text' | 'stream-json',
): Promise<Launch> {
  const { config, environment, extraArgs } = context
  await checkDirectory('The project folder', query.cwd, HARNESS_ID)
  for (const directory of query.additionalDirectories ?? [])
    await checkDirectory('The extra folder', directory, HARNESS_ID)
  const command = await findClaude({ binaryPath: config.binaryPath, environment })
  const { env } = buildChildEnv({
    source: environment,
    credentials: 'claude',
    allow: config.allowEnvironment,
    extra: { ...textsEnv(query, config), ...buildClaudeEnv(query, config) },
  })
  refuseRootBypass(query, env)

  const systemPromptSnapshot = continuesWithPrompt(query)
    ? knowsSystemPromptSnapshot(await claudeVersion(command, env, query.signal))
    : false
  const cleanups: (() => Promise<void>)[] = []
  const cleanup = async () => void (await Promise.all(cleanups.map(clean => clean())))
  try {
    const { mcpServers, toolNames, stop } = await serveClientTools(query, HARNESS_ID)
    cleanups.push(stop)
    const served = { ...query, mcpServers, allowedTools: [...(query.allowedTools ?? []), ...toolNames] }
    const { files, remove } = await writeTempFiles(served, environment)
    cleanups.push(remove)
    const args = buildClaudeArgs({
      query: served,
      config,
      files,
      inputFormat,
      systemPromptSnapshot,
      extraArgs,
    })
    return { command, args, env, cwd: query.cwd, query: served, files, cleanup }
  } catch (error) {
    await cleanup()
    throw error
  }
}

/** Only then is the version worth a process of its own. */
function continuesWithPrompt(query: HarnessQuery): boolean {
  const continues = query.resumeSessionId !== undefined || query.continueLast === true
  return continues && Boolean(query.systemPrompt || query.appendSystemPrompt)
}

/** The CLI would exit with a line on stderr; said here it names the way out. */
function refuseRootBypass(query: HarnessQuery, env: Record<string, string>): void {
  const bypass = query.permissionMode ? query.permissionMode === 'bypassPermissions' : query.mode === 'yolo'
  if (!bypass || process.getuid?.() !== 0 || env.IS_SANDBOX === '1') return
  throw new HarnessError(
    'Claude Code refuses to skip permissions as root. Run as another user, or set IS_SANDBOX=1 inside a container.',
    'invalid_query',
    HARNESS_ID,
  )
}
