export interface Tool {
  name: string
  description: string
  inputSchema: Record<string, unknown>
  /** A failure (a throw, or `isError`) is reported to the model, which decides how to continue. */
  execute(input: Record<string, unknown>, context: ToolContext): Promise<string | ToolOutput>
}

export interface ToolContext {
  /** Fires when the result is no longer needed. */
  signal: AbortSignal
  toolUseId: string
  /** It was asked about before, without an answer: it runs only if a person is asked now. */
  mustAsk?: boolean
}

export interface ToolOutput {
  /** The text for the model. */
  content: string
  isError?: boolean
  /** The call was denied. That is not a failure: the calls after it still run. */
  isDenied?: boolean
  /** Details for the user, never sent to the model. */
  detail?: unknown
}
