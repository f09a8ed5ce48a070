import { asObject, asText, type JsonObject } from '../../../native/loose.ts'
import { snakeCase } from '../snake-case.ts'

/** An item that is a call of a tool, read the same way in either voice. The last three hold once it is completed. */
export interface ToolFacts {
  name: string
  input: JsonObject
  content: string
  isError: boolean
  detail?: JsonObject
}

export const COMMAND = 'command'
export const FILE_CHANGE = 'file_change'
export const WEB_SEARCH = 'web_search'

export function mcpToolName(server: string, tool: string): string {
  return `mcp__${server}__${tool}`
}

export function statusOf(item: JsonObject): string | undefined {
  const status = asText(item.status)
  return status && snakeCase(status)
}

export function hasFailed(status: string | undefined): boolean {
  return status === 'failed' || status === 'declined' || status === 'interrupted'
}

export function argumentsOf(item: JsonObject): JsonObject {
  const value = item.arguments ?? {}
  return asObject(value) ?? { arguments: value }
}
