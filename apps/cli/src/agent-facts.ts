/** What is said about an agent to people. */
export interface AgentFacts {
  name: string
  /** It says what a turn costs. */
  knowsCost: boolean
  login: string
}

export function agentFacts(harness: string | undefined): AgentFacts {
  return FACTS.get(harness ?? '') ?? CLAUDE_CODE
}

const CLAUDE_CODE: AgentFacts = {
  name: 'Claude Code',
  knowsCost: true,
  login: 'Run `claude auth login`, or set ANTHROPIC_API_KEY',
}

const FACTS: ReadonlyMap<string, AgentFacts> = new Map([
  ['codex', { name: 'Codex', knowsCost: false, login: 'Run `codex login`, or set CODEX_API_KEY' }],
  ['agent-sdk', { ...CLAUDE_CODE, name: 'Claude Agent SDK' }],
  ['messages-api', { name: 'The Messages API', knowsCost: true, login: 'Set ANTHROPIC_API_KEY' }],
])
