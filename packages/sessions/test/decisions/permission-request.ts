import type { PermissionRequestEvent } from '@chirality/core'

/** An agent asks for leave to run `ls`, unless the test says otherwise. */
export function permissionRequest(changes: Partial<PermissionRequestEvent> = {}): PermissionRequestEvent {
  return {
    type: 'permission:request',
    sessionId: 's1',
    requestId: 'r1',
    kind: 'tool',
    toolName: 'Bash',
    input: { command: 'ls' },
    raw: null,
    ...changes,
  }
}
