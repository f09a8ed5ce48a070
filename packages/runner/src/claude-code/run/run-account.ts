import {
  type ClaudePermissionDenial,
  HarnessError,
  type HarnessErrorCode,
  type HarnessId,
  type UIEvent,
} from '@chirality/core'

/**
 * The budget of runs, and the count of their cost. `RunBudgets` of `@chirality/sessions` implements it: it writes
 * `state/budget.json` and `state/claude-session.json` of the project.
 */
export interface RunAccount {
  /** Called before the agent is started. Rejects if the budget is used up; no agent is started then. */
  begin(run: RunStart): Promise<RunEntry>
}

export interface RunStart {
  /** Identifies this run, so that it is counted once. */
  runId: string
  cwd: string
  harnessId: HarnessId
  /** The requested model; undefined leaves the choice to the agent. */
  model: string | undefined
  /** The purpose of the run, for example `planner` or `coder`. */
  role: string
}

/** One run within the budget. */
export interface RunEntry {
  /** Reads the agent's events in order. Returns the reason to stop, once there is one. */
  note(event: UIEvent): string | undefined
  /** Called once, however the run ended. The id is the agent's own; null if no conversation began. Never rejects. */
  end(nativeSessionId: string | null): Promise<void>
}

/** A run without an answer. The agent's output is in the raw log. */
export class ClaudeRunError extends HarnessError {
  readonly rawEventsPath: string
  readonly permissionDenials: ClaudePermissionDenial[]

  constructor(
    message: string,
    code: HarnessErrorCode,
    details: { rawEventsPath: string; permissionDenials: ClaudePermissionDenial[]; harnessId: HarnessId },
  ) {
    const { rawEventsPath, permissionDenials, harnessId } = details
    super(rawEventsPath ? `${message} The raw log is ${rawEventsPath}.` : message, code, harnessId)
    this.name = 'ClaudeRunError'
    this.rawEventsPath = rawEventsPath
    this.permissionDenials = permissionDenials
  }
}
