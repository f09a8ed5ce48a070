import { HarnessError, type McpServerConfig, type McpStdioServerConfig } from '@chirality/core'
import { CODEX_ID } from '../descriptor.ts'

export interface CodexMcpServers {
  /** The value of `mcp_servers`. */
  config: Record<string, Record<string, unknown>>
  /** The environment variables that the configuration names. */
  env: Record<string, string>
}

export interface CodexMcpOptions {
  /**
   * `env`: the configuration goes to argv, so all values are in variables. `inline`: it goes through a pipe, with the
   * values.
   */
  values: 'env' | 'inline'
  /** The servers whose tools run without asking. Codex refuses the others if it cannot send requests. */
  isApproved(name: string): boolean
  /** The server that offers the caller's own tools. */
  own?: string | undefined
}

/** Without this Codex waits one second for a server, and then silently begins without its tools. */
const AWAITED = { required: true, startup_timeout_sec: 60 }

/** MCP servers in Codex's format. */
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
      ...(options.values === 'env' ? withoutValues(settings, env) : settings),
      ...approval,
      ...(name === options.own ? AWAITED : {}),
    }
  }
  return { config, env }
}

/** The characters that Codex accepts; a dot would also change which key an override sets. */
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

/**
 * Moves every given value into `carrier`, whether or not it looks like a secret, because everyone can read the list of
 * processes. The configuration keeps only the name of a variable.
 */
function withoutValues(
  { env = {}, http_headers = {}, ...rest }: Settings,
  carrier: Record<string, string>,
): Record<string, unknown> {
  const carry = ([name, value]: [string, string]): [string, string] => [name, carried(carrier, value)]
  const headers = Object.entries(http_headers).map(carry)
  const variables = Object.entries(env).map(carry)
  return {
    ...rest,
    ...(variables.length > 0 ? renamed(rest, variables) : {}),
    ...(headers.length > 0 ? { env_http_headers: Object.fromEntries(headers) } : {}),
  }
}

/**
 * Codex passes a variable on only under its own name, and would use it itself: another PATH, or one value for two
 * servers. So each gets a name of our own, and a shell sets the right name before it executes the server.
 */
function renamed({ command, args }: Settings, variables: [string, string][]): Record<string, unknown> {
  const invalid = variables.find(([name]) => !VARIABLE.test(name))
  if (invalid) throw refused(`"${invalid[0]}" is no name for a variable.`)
  const exports = variables.map(([name, carrier]) => `export ${name}="$${carrier}"; unset ${carrier}; `)
  const words = [command, ...(Array.isArray(args) ? args : [])]
  return {
    command: '/bin/sh',
    args: ['-c', `${exports.join('')}exec "$@"`, 'sh', ...words],
    env_vars: variables.map(([, carrier]) => carrier),
  }
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/

function carried(carrier: Record<string, string>, value: string): string {
  const name = `${CARRIER_PREFIX}${Object.keys(carrier).length}`
  carrier[name] = value
  return name
}

/** Contains a word that keeps Codex from passing the variable to commands. */
const CARRIER_PREFIX = 'CHIRALITY_MCP_TOKEN_'

function refused(message: string): HarnessError {
  return new HarnessError(`mcpServers: ${message}`, 'invalid_query', CODEX_ID)
}
