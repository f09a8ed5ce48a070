import { escapeGlob, unwrapShell } from '@chirality/core'
import type { ToolCall } from './tool-call.ts'

/** The rule that allows this call and as little else as possible: the same argument, of an MCP tool all of its input. */
export function narrowestRule({ toolName, argument }: ToolCall): string {
  switch (argument.kind) {
    case 'command':
      return `allow ${toolName}(${escapeGlob(unwrapShell(argument.command))})`
    case 'paths': {
      const [only, ...more] = argument.paths
      if (only === undefined || more.length > 0)
        throw new Error('a rule has one path, and this call has several')
      return `allow ${toolName}(${escapeGlob(only.real)})`
    }
    case 'url':
      return `allow ${toolName}(${escapeGlob(withoutHash(argument.url))})`
    case 'text':
      return `allow ${toolName}(${escapeGlob(argument.text)})`
    case 'input':
      return `allow ${toolName}(${escapeGlob(argument.json)})`
  }
}

/** The part that no server sees. */
function withoutHash(address: string): string {
  const { origin, pathname, search } = new URL(address)
  return `${origin}${pathname}${search}`
}
