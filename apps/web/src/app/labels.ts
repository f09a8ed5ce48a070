import { own } from '../ui/own.ts'

const HARNESSES: Readonly<Record<string, string>> = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  'agent-sdk': 'Agent SDK',
  'messages-api': 'Messages API',
}

/** Harnesses that other programs registered keep their own id. */
export function harnessLabel(id: string | null): string {
  return id === null ? 'default agent' : (own(HARNESSES, id) ?? id)
}
