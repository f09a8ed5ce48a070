/** A call that an agent is about to make. */
export interface GuardedCall {
  toolName: string
  input: Record<string, unknown>
  toolUseId?: string
}

export type GuardVerdict =
  /** What the agent's own mode and rules say counts. */
  | { effect: 'pass' }
  /** Whoever decides is asked, whatever the mode. Without anybody to ask it is denied. */
  | { effect: 'ask'; reason: string }
  | { effect: 'deny'; reason: string; rule?: string }

export interface Guard {
  judge(call: GuardedCall): Promise<GuardVerdict>
  /** There are rules that ask or deny. An agent that shows calls only by asking about each of them does so only then. */
  hasRules: boolean
  /** Those rules, for an agent that has to be told them beforehand. */
  rules?: readonly GuardRule[]
  /** It asks about changes of files that decide what agents may do, and somebody is there to answer. */
  protects?: boolean
}

/** `deny Bash(rm *)`. */
export interface GuardRule {
  effect: 'allow' | 'ask' | 'deny'
  tool: string
  pattern?: string
}
