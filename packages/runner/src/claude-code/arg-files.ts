/** Files that carry what must not be in argv: long texts (E2BIG at 128 KB) and secrets (argv is public). */
export interface ClaudeArgFiles {
  systemPrompt?: string
  appendSystemPrompt?: string
  mcpConfig?: string
}
