import { HarnessError, type HarnessQuery } from '@chirality/core'
import { CODEX_EFFORT, CODEX_ID } from '../descriptor.ts'
import type { CodexSandbox } from '../options/permissions.ts'

export interface ExecArgInput {
  /** Its thread id is already checked. */
  query: HarnessQuery
  sandbox: CodexSandbox
  /** The result of `overrideArgs`. */
  overrides: string[]
  /** The value of `mcp_servers`, without secrets. */
  mcpServers: Record<string, Record<string, unknown>>
  /** Variables that the agent's commands must not see. */
  hidden: string[]
  images: string[]
  outputSchemaFile?: string
  /** The file that replaces Codex's own system prompt. */
  systemPromptFile?: string
}

/** The command line of one `codex exec` turn. It contains no user text, because everyone on the machine can read it. */
export function buildExecArgs(input: ExecArgInput): string[] {
  const { query, sandbox, images } = input
  const args = [...input.overrides, ...queryOverrides(input)]
  // `exec` stores none of these between turns, and accepts them only before its subcommand.
  args.push('exec', '-s', sandbox, '-C', query.cwd, '--skip-git-repo-check')
  for (const directory of query.additionalDirectories ?? [])
    args.push('--add-dir', word('additionalDirectories', directory))
  if (query.resumeSessionId !== undefined) args.push(query.forkSession ? 'fork' : 'resume')
  args.push('--json')
  if (query.model) args.push('-m', word('model', query.model))
  if (input.outputSchemaFile) args.push('--output-schema', input.outputSchemaFile)
  // `-i` takes every argument that follows, so each image gets its own `-i`, and another flag follows the last.
  for (const image of images) args.push(`--image=${image}`)
  if (query.resumeSessionId !== undefined) args.push(query.resumeSessionId)
  args.push('-')
  return args
}

function queryOverrides({ query, mcpServers, hidden, systemPromptFile }: ExecArgInput): string[] {
  const overrides = [
    // Codex writes "trusted" for an unknown folder into the user's config, so the folder is made known for this run
    // only.
    `projects={ ${toToml(query.cwd)} = { trust_level = "untrusted" } }`,
  ]
  if (hidden.length > 0) overrides.push(`shell_environment_policy.exclude=${toToml(hidden)}`)
  const effort = query.thinking && CODEX_EFFORT[query.thinking]
  if (effort) overrides.push(`model_reasoning_effort=${toToml(effort)}`)
  if (systemPromptFile) overrides.push(`model_instructions_file=${toToml(systemPromptFile)}`)
  for (const [name, server] of Object.entries(mcpServers)) {
    for (const [key, value] of Object.entries(server))
      overrides.push(`mcp_servers.${name}.${key}=${toToml(value)}`)
  }
  return overrides.flatMap(override => ['-c', override])
}

function word(field: string, value: string): string {
  if (value !== '' && !value.startsWith('-') && !value.includes('\0')) return value
  const message = `${field} is ${JSON.stringify(value)}: it must not be empty, begin with "-" or hold a NUL.`
  throw new HarnessError(message, 'invalid_query', CODEX_ID)
}

/** A JSON value as TOML, for `-c key=value`. Supports only the types that configuration needs: no dates, no null. */
export function toToml(value: unknown): string {
  if (typeof value === 'string') return tomlString(value)
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (Array.isArray(value)) return `[${value.map(toToml).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, entry]) => entry !== undefined && entry !== null)
    return `{ ${entries.map(([key, entry]) => `${tomlString(key)} = ${toToml(entry)}`).join(', ')} }`
  }
  throw new TypeError(`${typeof value} has no form in TOML`)
}

/** JSON's escapes are TOML's, except for control characters that JSON leaves unescaped. */
function tomlString(text: string): string {
  return JSON.stringify(text).replace(/\u007f/g, '\\u007f')
}
