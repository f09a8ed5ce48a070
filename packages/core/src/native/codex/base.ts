/**
 * What all native events share. Only `type`, `method` and `id` are ever checked: the other fields are declared as the
 * CLI documents and prints them, may be missing or wrong in another version, and fields not declared here are kept.
 */
export interface CodexEventBase {
  [key: string]: unknown
}

/** Tokens of a whole thread, not of a turn. The cached and the reasoning ones are part of the others. */
export interface CodexUsage {
  input_tokens?: number
  cached_input_tokens?: number
  cache_write_input_tokens?: number
  output_tokens?: number
  reasoning_output_tokens?: number
  [key: string]: unknown
}
