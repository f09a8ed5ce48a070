import type { McpServerConfig } from '@chirality/core'

export interface CodexMcpServers {
  /** The value of `mcp_servers`. */
  config: Record<string, Record<string, unknown>>
  /** Bearer tokens, by the variable that the configuration names. */
  env: Record<string, string>
}

export interface CodexMcpOptions {
  /**
   * `env`: for argv, which everyone can read. `inline`: for the app-server's stdin, whose environment was fixed
   * before the token was made.
   */
  tokens: 'env' | 'inline'
  /** Which servers' tools run without asking. Codex refuses the others when nobody can be asked. */
  isApproved(name: string): boolean
}

/** MCP servers as Codex wants them. */
export function codexMcpServers(
  servers: Record<string, McpServerConfig>,
  options: CodexMcpOptions,
): CodexMcpServers {
  const env: Record<string, string> = {}
  const config: Record<string, Record<string, unknown>> = {}
  for (const [name, server] of Object.entries(servers)) {
    const approval = options.isApproved(name) ? { default_tools_approval_mode: 'approve' } : {}
    if (server.type === 'stdio') {
      config[name] = { ...stdioServer(server), ...approval }
      continue
    }
    const { url, headers = {} } = server
    const { token, plain } =
      options.tokens === 'env' ? splitToken(headers) : { token: undefined, plain: headers }
    const variable = `CHIRALITY_MCP_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`
    if (token !== undefined) env[variable] = token
    config[name] = {
      url,
      ...(token === undefined ? {} : { bearer_token_env_var: variable }),
      ...(Object.keys(plain).length > 0 ? { http_headers: plain } : {}),
      ...approval,
    }
  }
  return { config, env }
}

function stdioServer(server: Extract<McpServerConfig, { type: 'stdio' }>): Record<string, unknown> {
  const { command, args, env, cwd } = server
  return { command, ...(args ? { args } : {}), ...(env ? { env } : {}), ...(cwd ? { cwd } : {}) }
}

function splitToken(headers: Record<string, string>): { token?: string; plain: Record<string, string> } {
  const plain: Record<string, string> = {}
  let token: string | undefined
  for (const [header, value] of Object.entries(headers)) {
    const bearer = header.toLowerCase() === 'authorization' ? /^Bearer (.+)$/.exec(value)?.[1] : undefined
    if (bearer === undefined) plain[header] = value
    else token = bearer
  }
  return { token, plain }
}
