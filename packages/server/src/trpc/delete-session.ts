import type { AppServices } from './context.ts'
import { storedSession } from './live-session.ts'

/** Ends what runs in it, removes everything that is kept of it, and says so. */
export async function deleteSession(services: AppServices, sessionId: string): Promise<void> {
  const { projectRoot } = await storedSession(services, sessionId)
  await services.host.deleteSession(sessionId)
  await services.changes.forget(projectRoot, sessionId)
  services.removed.tell(sessionId)
}
