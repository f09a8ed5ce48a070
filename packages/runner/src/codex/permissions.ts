import type { HarnessQuery, PermissionMode } from '@chirality/core'

export type CodexSandbox = 'read-only' | 'workspace-write' | 'danger-full-access'

/** What an agent may do, in Codex's own terms. */
export interface CodexPermissions {
  sandbox: CodexSandbox
  /**
   * `untrusted` asks before each command and each change of a file, also inside the sandbox; `on-request` when the agent
   * wants to leave the sandbox; `never` refuses what the sandbox does not allow.
   */
  approval: 'never' | 'on-request' | 'untrusted'
}

/** The finer permission mode wins over the mode, as for every harness. With `asks` there is somebody to be asked. */
export function codexPermissions(query: PermissionQuery, { asks = false } = {}): CodexPermissions {
  const { mode, permissionMode } = query
  if (!permissionMode) return BY_MODE[mode]
  return (asks ? WHEN_ASKING[permissionMode] : undefined) ?? BY_PERMISSION_MODE[permissionMode]
}

/** `exec` asks nobody: what somebody was to be asked about stays shut. */
export function execPermissions(query: PermissionQuery, { asks = false } = {}): CodexPermissions {
  const permissions = codexPermissions(query, { asks })
  return permissions.approval === 'untrusted' ? { ...permissions, sandbox: 'read-only' } : permissions
}

type PermissionQuery = Pick<HarnessQuery, 'mode' | 'permissionMode'>

const BY_MODE: Record<HarnessQuery['mode'], CodexPermissions> = {
  'read-only': { sandbox: 'read-only', approval: 'never' },
  'workspace-write': { sandbox: 'workspace-write', approval: 'never' },
  yolo: { sandbox: 'danger-full-access', approval: 'never' },
}

/** Codex has no tools to allow one by one: `dontAsk` is the sandbox that lets nothing change. */
const BY_PERMISSION_MODE: Record<PermissionMode, CodexPermissions> = {
  default: { sandbox: 'workspace-write', approval: 'on-request' },
  acceptEdits: { sandbox: 'workspace-write', approval: 'never' },
  dontAsk: { sandbox: 'read-only', approval: 'never' },
  plan: { sandbox: 'read-only', approval: 'never' },
  bypassPermissions: { sandbox: 'danger-full-access', approval: 'never' },
}

/** Rules and people decide only about what is asked: `default` asks about everything, as with every other agent. */
const WHEN_ASKING: Partial<Record<PermissionMode, CodexPermissions>> = {
  default: { sandbox: 'workspace-write', approval: 'untrusted' },
  acceptEdits: { sandbox: 'workspace-write', approval: 'on-request' },
}

/** The policy of one turn. The thread itself is always started read-only, because a wider one makes Codex write
 * `trust_level = "trusted"` for the folder into the user's config. */
export function sandboxPolicy(sandbox: CodexSandbox, writableRoots: string[]): Record<string, unknown> {
  switch (sandbox) {
    case 'danger-full-access':
      return { type: 'dangerFullAccess' }
    case 'read-only':
      return { type: 'readOnly', networkAccess: false }
    case 'workspace-write':
      return {
        type: 'workspaceWrite',
        writableRoots,
        networkAccess: false,
        excludeTmpdirEnvVar: false,
        excludeSlashTmp: false,
      }
  }
}
