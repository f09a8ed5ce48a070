import type { Envelope } from '@chirality/core'
import type { StoredSession } from '../../store/stored-session.ts'

/** What is written, secrets taken out. */
export interface SessionContents {
  session: StoredSession
  batches: AsyncIterable<readonly Envelope[]>
}
