import type { HarnessQuery, PermissionMode } from '@chirality/core'

export type CodexSandbox = 'read-only' | 'workspace-write' | 'danger-full-access'

/** What an agent may do, in Codex's own terms. */
export interface CodexPermissions {
  sandbox: CodexSandbox
  /** `on-request` raises approvals; `never` refuses what the sandbox does not allow. */
  approval: 'never' | 'on-request'
}

/** The finer permission mode wins over the mode, as for every harness. */
export function codexPermissions(query: Pick<HarnessQuery, 'mode' | 'permissionMode'>): CodexPermissions {
  return query.permissionMode ? BY_PERMISSION_MODE[query.permissionMode] : BY_MODE[query.mode]
}

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
