/** app-server says `mcpToolCall` where `exec` says `mcp_tool_call`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, '_$&').toLowerCase()
}
