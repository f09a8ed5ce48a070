import { own } from '../ui/own.ts'

const HARNESSES: Readonly<Record<string, string>> = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  'agent-sdk': 'Agent SDK',
  'messages-api': 'Messages API',
}

const PERMISSIONS: Readonly<Record<string, string>> = {
  default: 'ask first',
  acceptEdits: 'edits allowed',
  dontAsk: 'never ask',
  plan: 'plan only',
  bypassPermissions: 'no checks',
}

/** Harnesses that other programs registered keep their own id. */
export function harnessLabel(id: string | null): string {
  return id === null ? 'default agent' : (own(HARNESSES, id) ?? id)
}

export function permissionLabel(mode: string): string {
  return own(PERMISSIONS, mode) ?? mode
}
