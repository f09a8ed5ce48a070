import type { PermissionMode } from '@chirality/core'
import { SessionStartError } from './session-errors.ts'

type KeepableMode = Exclude<PermissionMode, 'bypassPermissions'>

/** A mode that a session may keep. Its file lies where its agent can write: it must not be able to free itself for ever. */
export function keepable(mode: PermissionMode | undefined): KeepableMode | undefined {
  if (mode !== 'bypassPermissions') return mode
  const message = 'bypassPermissions cannot be a setting of a session. Give it with each turn.'
  throw new SessionStartError('unsupported', message)
}
