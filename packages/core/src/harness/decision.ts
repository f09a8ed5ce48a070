/** The answer to a `permission:request`. Whatever is not clearly `allow` means no. */
export type PermissionDecision = AllowDecision | DenyDecision

export interface AllowDecision {
  behavior: 'allow'
  /** Replaces the input that was asked for. Answers to a question are here, too: `{ ...input, answers: { question: text } }`. */
  updatedInput?: Record<string, unknown>
  /**
   * Do not ask for the like again, in this session or ever. To a host: by the rule that the request carries as `always`. To a
   * harness itself: by the narrowest rule that the agent suggests.
   */
  remember?: 'session' | 'always'
  by?: DecidedBy
  /** The rule of a policy that answered. */
  rule?: string
}

export interface DenyDecision {
  behavior: 'deny'
  /** For the agent: why, or what to do instead. */
  message?: string
  /** Ends the turn, too. */
  interrupt?: boolean
  by?: DecidedBy
  rule?: string
}

/** Default `person`. `policy` is a rule; `turn-end` nobody any more; `failure` that no answer could be had. */
export type DecidedBy = 'person' | 'policy' | 'timeout' | 'turn-end' | 'failure'

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
