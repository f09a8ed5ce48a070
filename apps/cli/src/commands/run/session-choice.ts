import { realpath } from 'node:fs/promises'
import type { HarnessId, PermissionMode, SessionMode } from '@chirality/core'
import { SessionStore, StorageError, type StoredSession } from '@chirality/sessions'
import { UsageError } from '../../exit-code.ts'
import { isInFleet } from '../../in-fleet.ts'
import { findSession } from '../sessions/find-session.ts'

/** The session of the turn: an existing one, or a new one. */
export interface SessionChoice {
  projectRoot: string
  harness: HarnessId | undefined
  persona: string | null
  mode: SessionMode
  model: string | undefined
  permissionMode: PermissionMode | undefined
  maxTurns: number | undefined
  /** Where the worktree of a new session begins. Undefined: it works in the project's folder. */
  worktree: { base?: string } | undefined
  /** The session that is continued. */
  stored: StoredSession | undefined
  /** The machine of the fleet that has that session, or gets the new one; undefined for this one. */
  machine: string | undefined
  /** The agent's conversation that a new session resumes. */
  nativeSessionId: string | null
}

export interface SessionWishes {
  harness: HarnessId | undefined
  persona: string | undefined
  mode: SessionMode | undefined
  model: string | undefined
  worktree: { base?: string } | undefined
  /** A project that was named explicitly, not just the current folder. */
  namedProject: string | undefined
}

export async function readSession(
  given: string | undefined,
  project: string,
  wishes: SessionWishes,
): Promise<SessionChoice> {
  const { session: stored, machine } = (given === undefined ? undefined : await find(given)) ?? {}
  if (stored !== undefined) return continued(stored, machine, await refuseOthers(stored, machine, wishes))
  return {
    projectRoot: project,
    harness: wishes.harness,
    persona: wishes.persona ?? null,
    mode: wishes.mode ?? 'direct',
    model: wishes.model,
    permissionMode: undefined,
    maxTurns: undefined,
    worktree: wishes.worktree,
    ...{ stored, machine },
    nativeSessionId: given?.toLowerCase() ?? null,
  }
}

interface Found {
  session: StoredSession
  machine: string | undefined
}

/** Undefined for an id that only the agent can know. */
async function find(given: string): Promise<Found | undefined> {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(given))
    throw new UsageError(`--session must be the id of a session, not "${given}".`)
  try {
    // Imported on demand: few turns are of a machine in a fleet.
    if (isInFleet()) return await (await import('../sessions/find-anywhere.ts')).findAnywhere(given)
    return { session: await findSession(given, new SessionStore()), machine: undefined }
  } catch (error) {
    const isUnknown = error instanceof StorageError && error.code === 'not-found'
    if (isUnknown && UUID.test(given)) return undefined
    throw error
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** A session's settings were fixed when it began. Silently ignoring a different request would mislead. */
async function refuseOthers(
  stored: StoredSession,
  machine: string | undefined,
  wishes: SessionWishes,
): Promise<SessionWishes> {
  const { harness, persona, mode, namedProject, worktree } = wishes
  const differs = (option: string, has: string | null) =>
    new UsageError(
      `--${option} does not fit: session ${stored.id} has ${has ?? 'none'}. Leave it out, or begin another session.`,
    )
  if (harness !== undefined && stored.harness !== null && harness !== stored.harness)
    throw differs('harness', stored.harness)
  if (persona !== undefined && persona !== stored.persona) throw differs('persona', stored.persona)
  if (mode !== undefined && mode !== stored.mode) throw differs('mode', stored.mode)
  if (namedProject !== undefined && machine !== undefined)
    throw new UsageError(`--project is a folder of this machine. Leave it out: the session is on ${machine}.`)
  if (namedProject !== undefined && (await realpath(namedProject)) !== stored.projectRoot)
    throw differs('project', stored.projectRoot)
  if (worktree !== undefined)
    throw new UsageError('--worktree is for a new session. Leave it out, or begin another session.')
  return wishes
}

function continued(stored: StoredSession, machine: string | undefined, wishes: SessionWishes): SessionChoice {
  const { projectRoot, persona, mode, settings } = stored
  return {
    ...{ projectRoot, persona, mode, stored, machine },
    harness: stored.harness ?? wishes.harness,
    model: wishes.model,
    permissionMode: settings.permissionMode,
    maxTurns: settings.maxTurns,
    nativeSessionId: null,
    worktree: undefined,
  }
}
