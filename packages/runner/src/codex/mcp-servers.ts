import type { McpServerConfig } from '@chirality/core'

export interface CodexMcpServers {
  /** The value of `mcp_servers`. */
  config: Record<string, Record<string, unknown>>
  /** Bearer tokens, by the variable that the configuration names: never in argv, never on disk. */
  env: Record<string, string>
}

/**
 * MCP servers as Codex wants them. `approved` ones run without asking; without it Codex refuses every tool that does
 * not declare itself read-only when nobody can be asked.
 */
export function codexMcpServers(
  servers: Record<string, McpServerConfig>,
  approved: (name: string) => boolean,
): CodexMcpServers {
  const env: Record<string, string> = {}
  const config: Record<string, Record<string, unknown>> = {}
  for (const [name, server] of Object.entries(servers)) {
    config[name] = {
      ...(server.type === 'http'
        ? httpServer(name, server.url, server.headers ?? {}, env)
        : stdioServer(server)),
      ...(approved(name) ? { default_tools_approval_mode: 'approve' } : {}),
    }
  }
  return { config, env }
}

function stdioServer(server: Extract<McpServerConfig, { type: 'stdio' }>): Record<string, unknown> {
  const { command, args, env, cwd } = server
  return { command, ...(args ? { args } : {}), ...(env ? { env } : {}), ...(cwd ? { cwd } : {}) }
}

function httpServer(
  name: string,
  url: string,
  headers: Record<string, string>,
  env: Record<string, string>,
): Record<string, unknown> {
  const plain: Record<string, string> = {}
  let token: string | undefined
  for (const [header, value] of Object.entries(headers)) {
    const bearer = header.toLowerCase() === 'authorization' ? /^Bearer (.+)$/.exec(value)?.[1] : undefined
    if (bearer === undefined) plain[header] = value
    else token = bearer
  }
  const variable = `CHIRALITY_MCP_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`
  if (token !== undefined) env[variable] = token
  return {
    url,
    ...(token === undefined ? {} : { bearer_token_env_var: variable }),
    ...(Object.keys(plain).length > 0 ? { http_headers: plain } : {}),
  }
}
