/** The answer to a `permission:request`. Every answer that is not clearly `allow` is a denial. */
export type PermissionDecision = AllowDecision | DenyDecision

export interface AllowDecision {
  behavior: 'allow'
  /**
   * Replaces the requested input. Also holds the answers to a question: `{ ...input, answers: { question: text } }`.
   */
  updatedInput?: Record<string, unknown>
  /**
   * Do not ask again for similar calls, in this session or ever. A host uses the request's `always` rule; a harness
   * itself uses the narrowest rule that the agent suggests.
   */
  remember?: 'session' | 'always'
  by?: DecidedBy
  /** The policy rule that answered. */
  rule?: string
}

export interface DenyDecision {
  behavior: 'deny'
  /** For the agent: the reason, or what to do instead. */
  message?: string
  /** Also ends the turn. */
  interrupt?: boolean
  by?: DecidedBy
  rule?: string
}

/**
 * Default `person`. `policy` is a rule; `turn-end` means the turn ended first; `failure` that no answer could be
 * obtained.
 */
export type DecidedBy = 'person' | 'policy' | 'timeout' | 'turn-end' | 'failure'

/** A tool call that an agent is about to make. */
export interface GuardedCall {
  toolName: string
  input: Record<string, unknown>
  toolUseId?: string
}

export type GuardVerdict =
  /** The agent's own mode and rules decide. */
  | { effect: 'pass' }
  /** `decide` is called, whatever the mode. Without `decide` the call is denied. */
  | { effect: 'ask'; reason: string }
  | { effect: 'deny'; reason: string; rule?: string }

export interface Guard {
  judge(call: GuardedCall): Promise<GuardVerdict>
  /** There are rules that ask or deny. An agent that reports calls only by asking about each does so only then. */
  hasRules: boolean
  /** Those rules, for an agent that needs them beforehand. */
  rules?: readonly GuardRule[]
  /** It asks about changes of files that decide what agents may do, and someone can answer. */
  protects?: boolean
}

/** `deny Bash(rm *)`. */
export interface GuardRule {
  effect: 'allow' | 'ask' | 'deny'
  tool: string
  pattern?: string
}
