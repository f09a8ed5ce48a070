/** `claude-code`, `codex` …: a name that stays, because logs and settings hold it. */
export type HarnessId = string
