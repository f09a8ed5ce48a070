import { realpathSync } from 'node:fs'
import path from 'node:path'
import {
  type GuardRule,
  type HarnessQuery,
  type PermissionMode,
  permissionLabel,
  unwrapShell,
} from '@chirality/core'
import { asObject } from '../../common/json.ts'

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

export interface CodexListeners {
  /** There is somebody to be asked. */
  asks?: boolean
  /** There are rules that hold in every mode: Codex tells of a call only when it asks about it. */
  hasRules?: boolean
  /** Somebody is asked before files are changed that decide what agents may do. */
  protects?: boolean
}

/** The finer permission mode wins over the mode, as for every harness. */
export function codexPermissions(query: PermissionQuery, listeners: CodexListeners = {}): CodexPermissions {
  const { mode, permissionMode } = query
  if (!permissionMode) return BY_MODE[mode]
  const { asks = false, hasRules = false, protects = false } = listeners
  const permissions = (asks ? WHEN_ASKING[permissionMode] : undefined) ?? BY_PERMISSION_MODE[permissionMode]
  // In the sandbox that lets nothing change, what is asked about and allowed would run outside of it.
  if (permissions.sandbox === 'read-only') return permissions
  // Codex cannot say which file a command writes, and leave for one that it asks about reaches beyond the sandbox.
  const mustAsk = hasRules || (asks && protects && permissionMode === 'acceptEdits')
  return mustAsk ? { ...permissions, approval: 'untrusted' } : permissions
}

/**
 * What a turn that is watched asks about although its mode does not: nothing stands against it once no rule does. Of commands in
 * a sandbox only those that read: one that is allowed may leave it.
 */
export function isFreeInMode(
  { permissionMode, cwd }: PermissionQuery & Pick<HarnessQuery, 'cwd'>,
  { toolName, input }: { toolName: string; input: Record<string, unknown> },
): boolean {
  if (permissionMode === 'bypassPermissions') return true
  if (permissionMode !== 'acceptEdits') return false
  return toolName === 'file_change' ? isInside(cwd, input) : toolName === 'command' && onlyReads(input)
}

/** A plain command that writes nothing and starts nothing, whatever its arguments are. */
function onlyReads({ command, network }: Record<string, unknown>): boolean {
  if (typeof command !== 'string' || (network ?? undefined) !== undefined) return false
  const plain = unwrapShell(command).trim()
  return !/[;&|<>()`${}!\\\n\r]/.test(plain) && READS.test(plain)
}

const READS =
  /^(?:(?:ls|cat|head|tail|wc|pwd|stat|du|nl|grep|which|true)(?= |$)|sed -n ["']?\d+(?:,\d+)?p["']? [^\s-]\S*$)/

function isInside(cwd: string, { changes, grantRoot }: Record<string, unknown>): boolean {
  if (!Array.isArray(changes) || changes.length === 0 || (grantRoot ?? undefined) !== undefined) return false
  const root = realPathOf(cwd)
  return changes.every((change: unknown) => {
    const { path: file, kind } = asObject(change)
    const isMove = (asObject(kind).move_path ?? undefined) !== undefined
    return typeof file === 'string' && !isMove && realPathOf(path.resolve(cwd, file)).startsWith(`${root}/`)
  })
}

/** Where a path leads, also one of a file that is still to be made. */
function realPathOf(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    const parent = path.dirname(file)
    return parent === file ? file : path.join(realPathOf(parent), path.basename(file))
  }
}

/** `exec` asks nobody: what somebody was to be asked about stays shut. */
export function execPermissions(query: PermissionQuery, listeners: CodexListeners = {}): CodexPermissions {
  const permissions = codexPermissions(query, { ...listeners, protects: false })
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

/**
 * What the user's rules do not reach in Codex: it reads without asking in every mode, and where nothing may change it asks
 * about no command at all. For people, before the turn.
 */
export function unheldRules(rules: readonly GuardRule[], permissionMode: PermissionMode): string[] {
  const asksNothing = BY_PERMISSION_MODE[permissionMode].sandbox === 'read-only'
  return rules.flatMap(({ effect, tool, pattern }) => {
    const isReading = READING.test(tool) || (tool === '*' && pattern !== undefined)
    if (effect === 'allow' || !(isReading || (asksNothing && COMMANDS.test(tool)))) return []
    const rule = `${effect} ${tool}${pattern === undefined ? '' : `(${pattern})`}`
    const reason = isReading
      ? 'Codex reads files without asking'
      : `in the mode "${permissionLabel(permissionMode)}" Codex runs commands that change nothing without asking`
    return [`"${rule}" does not hold in this turn: ${reason}. Use another agent where it has to hold.`]
  })
}

const READING = /^(?:read|ls|list|glob|grep|notebookread)$/i
const COMMANDS = /^(?:bash|command|\*)$/i

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
