import type { McpServerConfig, McpStdioServerConfig } from '@chirality/core'
import { HarnessError } from '@chirality/core'
import { isSecretLike } from '../env/secret-like.ts'
import { HARNESS_ID } from './config.ts'

export interface CodexMcpServers {
  /** The value of `mcp_servers`. */
  config: Record<string, Record<string, unknown>>
  /** What the configuration only names. */
  env: Record<string, string>
}

export interface CodexMcpOptions {
  /** `env`: nothing secret in the configuration, which goes to argv. `inline`: it goes through a pipe. */
  secrets: 'env' | 'inline'
  /** Which servers' tools run without asking. Codex refuses the others when nobody can be asked. */
  isApproved(name: string): boolean
  /** The server of the caller's own tools. */
  own?: string | undefined
}

/** Without this Codex waits a second for a server, and then begins without its tools and without a word. */
const AWAITED = { required: true, startup_timeout_sec: 60 }

/** MCP servers as Codex wants them. */
export function codexMcpServers(
  servers: Record<string, McpServerConfig>,
  options: CodexMcpOptions,
): CodexMcpServers {
  const env: Record<string, string> = {}
  const config: Record<string, Record<string, unknown>> = {}
  for (const [name, server] of Object.entries(servers)) {
    if (!NAME.test(name)) {
      throw refused(`"${name}" is no name for a server: use only A-Z, a-z, 0-9, _ and -.`)
    }
    const approval = options.isApproved(name) ? { default_tools_approval_mode: 'approve' } : {}
    const settings = server.type === 'stdio' ? stdioServer(server) : httpServer(server)
    config[name] = {
      ...(options.secrets === 'env' ? withoutSecrets(settings, env) : settings),
      ...approval,
      ...(name === options.own ? AWAITED : {}),
    }
  }
  return { config, env }
}

/** What Codex itself takes; a dot would also lead an override somewhere else. */
const NAME = /^[A-Za-z0-9_-]+$/

function stdioServer({ command, args, env, cwd }: McpStdioServerConfig): Settings {
  return { command, ...(args ? { args } : {}), ...(env ? { env } : {}), ...(cwd ? { cwd } : {}) }
}

function httpServer({ url, headers = {} }: McpServerConfig & { type: 'http' }): Settings {
  return { url, ...(Object.keys(headers).length > 0 ? { http_headers: headers } : {}) }
}

interface Settings {
  [key: string]: unknown
  env?: Record<string, string>
  http_headers?: Record<string, string>
}

/** Moves into `carrier` what must not be read in a list of processes, and leaves the name of the variable. */
function withoutSecrets(
  { env, http_headers, ...rest }: Settings,
  carrier: Record<string, string>,
): Record<string, unknown> {
  const settings: Record<string, unknown> = rest
  const plain = Object.entries(env ?? {}).filter(([name, value]) => !isSecretLike(name, value))
  const secret = Object.entries(env ?? {}).filter(([name, value]) => isSecretLike(name, value))
  if (plain.length > 0) settings.env = Object.fromEntries(plain)
  if (secret.length > 0) settings.env_vars = secret.map(([name, value]) => carried(carrier, name, value))
  const headers = Object.entries(http_headers ?? {}).map(([header, value]) => {
    return [header, carried(carrier, `${HEADER_PREFIX}${Object.keys(carrier).length}`, value)]
  })
  if (headers.length > 0) settings.env_http_headers = Object.fromEntries(headers)
  return settings
}

/** With a word in it that keeps Codex from handing it to commands. */
const HEADER_PREFIX = 'CHIRALITY_MCP_TOKEN_'

/** A server finds the variable under the name it knows, so two of them cannot want different values. */
function carried(carrier: Record<string, string>, name: string, value: string): string {
  if ((carrier[name] ?? value) !== value) {
    throw refused(`two servers want different values of ${name}, which \`codex exec\` cannot carry.`)
  }
  carrier[name] = value
  return name
}

function refused(message: string): HarnessError {
  return new HarnessError(`mcpServers: ${message}`, 'invalid_query', HARNESS_ID)
}
