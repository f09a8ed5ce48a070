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
