import { HarnessError, type HarnessId, type SessionHarness } from '@chirality/core'
import type { PersonaConfig } from '@chirality/personas'
import type { HarnessRegistry } from '@chirality/runner'
import { SessionStartError } from '../host/session-errors.ts'
import type { StoredSession } from '../store/stored-session.ts'
import type { PersonaConsent, PersonaWithConsent } from '../trust/persona-consent.ts'

/** The persona of a session as its file says today. Throws when there is none, or it cannot be used. */
export async function choosePersona(
  { persona: id, projectRoot }: Pick<StoredSession, 'persona' | 'projectRoot'>,
  consent: PersonaConsent,
): Promise<PersonaWithConsent | null> {
  if (id === null) return null
  const persona = await consent.load(projectRoot, id)
  if (persona !== null) return persona
  throw new SessionStartError(
    'persona',
    `There is no persona ${id} in this project. Write agents/AGENT_${id}.md, or choose another one.`,
  )
}

/** The one the session has; else the one its persona is meant for; else Claude Code, or the first there is. */
export function chooseHarness(
  { harness }: Pick<StoredSession, 'harness'>,
  persona: PersonaConfig | null,
  harnesses: HarnessRegistry<SessionHarness>,
): SessionHarness {
  const wanted = harness ?? persona?.harness
  if (wanted !== undefined && wanted !== null) return harnesses.getOrThrow(wanted)
  const first = harnesses.get(DEFAULT_HARNESS) ?? harnesses.getAll()[0]
  if (first !== undefined) return first
  throw new HarnessError('No harness is registered.', 'not_installed', DEFAULT_HARNESS)
}

const DEFAULT_HARNESS: HarnessId = 'claude-code'
