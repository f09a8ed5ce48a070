import type { Tool } from '../loop/tool.ts'

/** A tool of ours, and what its permission depends on. */
export interface BuiltInTool extends Tool {
  /** `read` changes nothing, `edit` changes files in the workspace, `run` can do anything, `client` is the host's own,
   * `ask` is nothing but a question: it runs with what the person answered. */
  effect: 'read' | 'edit' | 'run' | 'client' | 'ask'
  /** What rules such as `bash(git *)` look at. */
  subject(input: Record<string, unknown>): string | undefined
  /** `execute` itself refuses an input that does not fit the schema. */
  checksInput?: boolean
}

export function objectSchema(
  properties: Record<string, Record<string, unknown>>,
  required: string[],
): Record<string, unknown> {
  return { type: 'object', properties, required, additionalProperties: false }
}

/** Values come checked against the schema; what is optional may still be missing. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** A tool did not do what it was asked to, and says why. The words are for the model. */
export class ToolError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ToolError'
  }
}
