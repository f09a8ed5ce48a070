/** The answer to a `permission:request`. Whatever is not clearly `allow` means no. */
export type PermissionDecision = AllowDecision | DenyDecision

export interface AllowDecision {
  behavior: 'allow'
  /** Replaces the input that was asked for. Answers to a question are here, too: `{ ...input, answers: { question: text } }`. */
  updatedInput?: Record<string, unknown>
  /** Do not ask for the like again, by the narrowest rule the agent suggests: in this session, or ever. */
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
