import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { HarnessQuery } from '@chirality/core'
import { HarnessError } from '@chirality/core'
import { buildChildEnv } from '../env/child-env.ts'
import { buildClaudeArgs, buildClaudeEnv, type ClaudeArgFiles } from './args.ts'
import { type ClaudeCodeHarnessConfig, HARNESS_ID } from './config.ts'
import { claudeVersion, findClaude, knowsSystemPromptSnapshot } from './executable.ts'
import { writeMcpConfigJson } from './mcp-config.ts'
import { encodePrompt } from './prompt.ts'

/** One command, ready to be spawned. */
export interface ClaudeInvocation {
  command: string
  args: string[]
  env: Record<string, string>
  cwd: string
  stdin: string
  promptText: string
  attachments: number
  /** Removes the temporary files; safe to call twice. */
  cleanup(): Promise<void>
}

export interface InvocationContext {
  config: ClaudeCodeHarnessConfig
  environment: Record<string, string>
}

/** Checks the query, finds the binary and writes the files. Throws a HarnessError before anything is left behind. */
export async function prepareClaude(
  query: HarnessQuery,
  context: InvocationContext,
): Promise<ClaudeInvocation> {
  const { config, environment } = context
  const prompt = await encodePrompt(query.prompt)
  await checkDirectory('The project folder', query.cwd)
  for (const directory of query.additionalDirectories ?? [])
    await checkDirectory('The extra folder', directory)
  if (query.clientTools?.length) {
    throw new HarnessError('Claude Code cannot be given client tools yet.', 'unsupported', HARNESS_ID)
  }
  const command = await findClaude({ binaryPath: config.binaryPath, environment })
  const { env } = buildChildEnv({
    source: environment,
    credentials: 'claude',
    allow: config.allowEnvironment,
    extra: buildClaudeEnv(query, config),
  })
  refuseRootBypass(query, env)

  const resumesWithPrompt = query.resumeSessionId && (query.systemPrompt || query.appendSystemPrompt)
  const version = resumesWithPrompt ? await claudeVersion(command, env) : undefined
  const temp = await TempFiles.create(query)
  try {
    const args = buildClaudeArgs({
      query,
      config,
      files: temp.files,
      inputFormat: prompt.inputFormat,
      systemPromptSnapshot: knowsSystemPromptSnapshot(version),
    })
    return {
      command,
      args,
      env,
      cwd: query.cwd,
      stdin: prompt.stdin,
      promptText: prompt.text,
      attachments: prompt.attachments,
      cleanup: () => temp.remove(),
    }
  } catch (error) {
    await temp.remove()
    throw error
  }
}

async function checkDirectory(what: string, directory: string): Promise<void> {
  const info = await stat(directory).catch(() => null)
  if (info?.isDirectory()) return
  const fault = info ? 'is not a folder' : 'does not exist'
  throw new HarnessError(`${what} ${directory} ${fault}. Name an existing one.`, 'invalid_query', HARNESS_ID)
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

/** The folder of one turn's temporary files, owner-only; none is made when none is needed. */
class TempFiles {
  readonly files: ClaudeArgFiles
  private folder: string | null

  private constructor(folder: string | null, files: ClaudeArgFiles) {
    this.folder = folder
    this.files = files
  }

  static async create(query: HarnessQuery): Promise<TempFiles> {
    const servers = query.mcpServers ?? {}
    const hasServers = Object.keys(servers).length > 0
    if (!query.systemPrompt && !query.appendSystemPrompt && !hasServers) return new TempFiles(null, {})

    const folder = await mkdtemp(path.join(tmpdir(), 'chirality-'))
    const temp = new TempFiles(folder, {})
    try {
      await chmod(folder, 0o700)
      if (query.systemPrompt) temp.files.systemPrompt = await put(folder, 'system.txt', query.systemPrompt)
      if (query.appendSystemPrompt) {
        temp.files.appendSystemPrompt = await put(folder, 'append-system.txt', query.appendSystemPrompt)
      }
      if (hasServers) {
        temp.files.mcpConfig = path.join(folder, 'mcp.json')
        await writeMcpConfigJson(servers, temp.files.mcpConfig)
      }
      return temp
    } catch (error) {
      await temp.remove()
      throw error
    }
  }

  async remove(): Promise<void> {
    if (this.folder) await rm(this.folder, { recursive: true, force: true })
    this.folder = null
  }
}

async function put(folder: string, name: string, text: string): Promise<string> {
  const file = path.join(folder, name)
  await writeFile(file, text, { mode: 0o600, flag: 'wx' })
  return file
}
