import { realpath } from 'node:fs/promises'
import { HarnessError, type SessionHarness } from '@chirality/core'
import { StorageError } from '@chirality/sessions'
import type { RunHarnesses } from '../../harnesses.ts'
import type { SessionChoice } from './session-choice.ts'

/** Refuses an id that no project and no agent knows: the turn would begin another conversation than the one that was named. */
export async function requireConversation(
  harness: SessionHarness,
  harnesses: RunHarnesses,
  { nativeSessionId, projectRoot }: SessionChoice,
): Promise<void> {
  const { name, nativeSessions } = harness.meta()
  const keeper = nativeSessions === undefined ? undefined : harnesses.get(nativeSessions)
  const id = nativeSessionId ?? ''
  try {
    const found = await keeper?.importSession?.(id, projectRoot)
    // It goes on only where it was.
    if (found !== undefined && (await realpath(found.session.projectRoot)) === (await realpath(projectRoot)))
      return
  } catch (error) {
    // One that is there and cannot be read is the agent's to judge.
    if (!(error instanceof HarnessError) || error.code !== 'session_not_found') return
  }
  throw new StorageError(
    'not-found',
    '',
    `There is no session "${id}", and ${name} has no conversation of that id in ${projectRoot}. See \`chirality sessions list --all\` and \`chirality sessions import\`.`,
  )
}
