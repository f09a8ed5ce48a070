import type { AgentNote, LiveSession } from '../status/live-session.ts'
import type { ReviewHost } from './review-host.ts'

/** The work is done: that it cannot be told, because the session is being moved meanwhile, must not look as if it failed. */
export async function tellDone(
  host: Pick<ReviewHost, 'logFault'>,
  session: LiveSession,
  note: AgentNote,
): Promise<void> {
  await session.tellAgent(note).catch((error: unknown) => host.logFault(error))
}
