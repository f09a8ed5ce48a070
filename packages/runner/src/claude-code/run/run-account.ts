import {
  type ClaudePermissionDenial,
  HarnessError,
  type HarnessErrorCode,
  type HarnessId,
  type UIEvent,
} from '@chirality/core'

/**
 * Who knows what runs may spend, and counts what they did. `RunBudgets` of `@chirality/sessions` is one: it keeps
 * `state/budget.json` and `state/claude-session.json` of the project.
 */
export interface RunAccount {
  /** Before the agent is started. Rejects when nothing is left to spend, and nothing is started then. */
  begin(run: RunStart): Promise<RunEntry>
}

export interface RunStart {
  /** Names this run, so that it is counted once. */
  runId: string
  cwd: string
  harnessId: HarnessId
  /** As it was asked for; undefined leaves it to the agent. */
  model: string | undefined
  /** What the run is for, `planner` or `coder` say. */
  role: string
}

/** One run that was let begin. */
export interface RunEntry {
  /** Takes what the agent shows, in order. Returns why the run has to stop, once it has to. */
  note(event: UIEvent): string | undefined
  /** Called once, however the run ended. The id is the agent's own, null when no conversation began. Never rejects. */
  end(nativeSessionId: string | null): Promise<void>
}

/** A run that brought no answer. What the agent printed all the same is in the raw log. */
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
