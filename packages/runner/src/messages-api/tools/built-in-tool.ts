import type { Tool } from '../loop/tool.ts'

/** A built-in tool and the facts that its permission depends on. */
export interface BuiltInTool extends Tool {
  /**
   * `read` changes nothing, `edit` changes files in the workspace, `run` can do anything, `client` is a tool of the
   * host, `ask` is only a question and runs with the user's answer.
   */
  effect: 'read' | 'edit' | 'run' | 'client' | 'ask'
  /** The text that rules such as `bash(git *)` are matched against. */
  subject(input: Record<string, unknown>): string | undefined
  /** `execute` validates its input itself. */
  checksInput?: boolean
}

export function objectSchema(
  properties: Record<string, Record<string, unknown>>,
  required: string[],
): Record<string, unknown> {
  return { type: 'object', properties, required, additionalProperties: false }
}

/** Values are already validated against the schema, but an optional one may be missing. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** A tool failed. The message is for the model. */
export class ToolError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ToolError'
  }
}
