/**
 * The fields that every native event shares. Only `type` and `subtype` are ever checked: the other fields are declared
 * as the CLI documents and prints them, may be missing or wrong in another version, and undeclared fields are kept.
 */
export interface ClaudeEventBase {
  uuid?: string
  session_id?: string
  [key: string]: unknown
}

/** An event that belongs to a sub-agent names the tool call that started it; null for the main agent. */
export interface ClaudeNestedEventBase extends ClaudeEventBase {
  parent_tool_use_id?: string | null
}

export interface ClaudeUsage {
  input_tokens?: number
  output_tokens?: number
  cache_read_input_tokens?: number | null
  cache_creation_input_tokens?: number | null
  [key: string]: unknown
}
