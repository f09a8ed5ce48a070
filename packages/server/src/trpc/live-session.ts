import type { LiveSession, StoredSession } from '@chirality/sessions'
import type { AppServices } from './context.ts'

/** A session whose project the user registered. Its project is opened if it is not yet. */
export async function liveSession(services: AppServices, sessionId: string): Promise<LiveSession> {
  await storedSession(services, sessionId)
  return services.host.session(sessionId)
}

export async function storedSession(
  { host, projects }: AppServices,
  sessionId: string,
): Promise<StoredSession> {
  const session = await host.store.resume(sessionId)
  await projects.require(session.projectRoot)
  return session
}
