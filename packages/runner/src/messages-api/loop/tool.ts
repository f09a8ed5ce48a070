/** Something the model can do. */
export interface Tool {
  name: string
  description: string
  /** JSON Schema of the input. */
  inputSchema: Record<string, unknown>
  /** Throws, or returns `isError`, when it fails: the model is told, and decides what to do about it. */
  execute(input: Record<string, unknown>, context: ToolContext): Promise<string | ToolOutput>
}

export interface ToolContext {
  /** Fires when nobody waits for the result any more. */
  signal: AbortSignal
  toolUseId: string
}

export interface ToolOutput {
  /** For the model. */
  content: string
  isError?: boolean
  /** It did not run because it may not. That is no failure, and the calls after it still have their turn. */
  isDenied?: boolean
  /** For people, beyond the text: never sent to the model. */
  detail?: unknown
}
