import type { CodexAppServerMessage } from './app-server-messages.ts'
import type { CodexExecEvent } from './exec-events.ts'

/** One line that Codex printed, in either of its voices: `exec --json` or `app-server`. */
export type CodexEvent = CodexExecEvent | CodexAppServerMessage | CodexUnknownEvent

/** A value that this version has no type for, whole. */
export interface CodexUnknownEvent {
  type: 'unknown'
  /** `type` or `method`; `not-an-object` or `no-type` where there is no name. */
  nativeType: string
  raw: unknown
}
