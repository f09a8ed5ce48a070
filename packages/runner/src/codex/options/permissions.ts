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

/** An agent's permissions in Codex's own terms. */
export interface CodexPermissions {
  sandbox: CodexSandbox
  /**
   * `untrusted` asks before each command and file change, also inside the sandbox; `on-request` asks when the agent
   * wants to leave the sandbox; `never` refuses everything outside the sandbox.
   */
  approval: 'never' | 'on-request' | 'untrusted'
}

export interface CodexListeners {
  /** Someone can answer permission requests. */
  asks?: boolean
  /** There are rules that hold in every mode: Codex reports a call beforehand only if it asks for permission. */
  hasRules?: boolean
  /** Asks before files are changed that decide what agents may do. */
  protects?: boolean
}

/** As in every harness, the finer permission mode wins over the mode. */
export function codexPermissions(query: PermissionQuery, listeners: CodexListeners = {}): CodexPermissions {
  const { mode, permissionMode } = query
  if (!permissionMode) return BY_MODE[mode]
  const { asks = false, hasRules = false, protects = false } = listeners
  const permissions = (asks ? WHEN_ASKING[permissionMode] : undefined) ?? BY_PERMISSION_MODE[permissionMode]
  // In the read-only sandbox an allowed request would run outside the sandbox.
  if (permissions.sandbox === 'read-only') return permissions
  // Codex does not say which file a command writes, and an allowed command runs outside the sandbox.
  const mustAsk = hasRules || (asks && protects && permissionMode === 'acceptEdits')
  return mustAsk ? { ...permissions, approval: 'untrusted' } : permissions
}

/**
 * Whether a request needs no person: a turn with rules sends requests that its mode alone would not, and they are
 * allowed unless a rule objects. Of the commands in a sandbox only reading ones are, because an allowed command may
 * leave it.
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

/** The real path, also of a file that does not exist yet. */
function realPathOf(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    const parent = path.dirname(file)
    return parent === file ? file : path.join(realPathOf(parent), path.basename(file))
  }
}

/** `exec` sends no requests: everything that the user wanted to be asked about is denied. */
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

/** Codex cannot allow single tools: `dontAsk` is the read-only sandbox. */
const BY_PERMISSION_MODE: Record<PermissionMode, CodexPermissions> = {
  // Refused before: Codex has no such model.
  auto: { sandbox: 'read-only', approval: 'never' },
  default: { sandbox: 'workspace-write', approval: 'on-request' },
  acceptEdits: { sandbox: 'workspace-write', approval: 'never' },
  dontAsk: { sandbox: 'read-only', approval: 'never' },
  plan: { sandbox: 'read-only', approval: 'never' },
  bypassPermissions: { sandbox: 'danger-full-access', approval: 'never' },
}

/** Rules and people can decide only about requests: `default` asks about everything, as with every other agent. */
const WHEN_ASKING: Partial<Record<PermissionMode, CodexPermissions>> = {
  default: { sandbox: 'workspace-write', approval: 'untrusted' },
  acceptEdits: { sandbox: 'workspace-write', approval: 'on-request' },
}

/** Commands of the mode run in Codex's sandbox. */
export function isConfined(mode: PermissionMode): boolean {
  return BY_PERMISSION_MODE[mode].sandbox !== 'danger-full-access'
}

/**
 * The user's rules that Codex cannot apply: it reads without asking in every mode, and in the read-only sandbox it asks
 * about no command. Shown to the user before the turn.
 */
export function unheldByCodex(rules: readonly GuardRule[], permissionMode: PermissionMode): string[] {
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
