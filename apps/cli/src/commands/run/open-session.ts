import type { LiveSession, SessionHost, StoredSession } from '@chirality/sessions'
import type { SessionChoice } from './session-choice.ts'

export interface OpenedSession {
  live: LiveSession
  /** The id to ask the agent for, when it begins a conversation. */
  newSessionId: string | undefined
  /** Takes back a session that never began. */
  discard(): Promise<void>
}

/** The session of the turn, made if need be. */
export async function openSession(host: SessionHost, choice: SessionChoice): Promise<OpenedSession> {
  const stored = choice.stored ?? (await begin(host, choice))
  const live = await host.session(stored.id)
  const isFresh = stored.claudeSessionId === null && stored.forkedFrom === null
  return {
    live,
    // Our own, so that one id finds the session here and the conversation there.
    newSessionId: isFresh || choice.nativeSessionId !== null ? stored.id : undefined,
    discard: async () => {
      if (choice.stored === undefined) await host.deleteSession(stored.id)
    },
  }
}

async function begin(host: SessionHost, choice: SessionChoice): Promise<StoredSession> {
  const { projectRoot, persona, mode, harness, model, nativeSessionId } = choice
  const session = await host.createSession(projectRoot, { persona, mode, harness, model })
  if (nativeSessionId === null) return session
  return host.store.update(session.id, { claudeSessionId: nativeSessionId })
}
