/** What is said about an agent to people. */
export interface AgentFacts {
  name: string
  login: string
}

export function agentFacts(harness: string | undefined): AgentFacts {
  return FACTS.get(harness ?? '') ?? CLAUDE_CODE
}

const CLAUDE_CODE: AgentFacts = {
  name: 'Claude Code',
  login: 'Run `claude auth login`, or set ANTHROPIC_API_KEY',
}

const FACTS: ReadonlyMap<string, AgentFacts> = new Map([
  ['codex', { name: 'Codex', login: 'Run `codex login`, or set CODEX_API_KEY' }],
  ['agent-sdk', { ...CLAUDE_CODE, name: 'Claude Agent SDK' }],
  ['messages-api', { name: 'The Messages API', login: 'Set ANTHROPIC_API_KEY' }],
])
