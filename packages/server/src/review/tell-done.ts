import type { AgentNote, LiveSession, SessionHost } from '@chirality/sessions'

/** The work is done: that it cannot be told, because the session is being moved meanwhile, must not look as if it failed. */
export async function tellDone(
  { host }: { host: Pick<SessionHost, 'logFault'> },
  session: LiveSession,
  note: AgentNote,
): Promise<void> {
  await session.tellAgent(note).catch((error: unknown) => host.logFault(error))
}
