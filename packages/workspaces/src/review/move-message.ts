import { isBits } from '../git/permissions.ts'

/** Why files were changed, and for `back` the turn and the session that goes on from before it. */
export type MoveCause =
  | { kind: 'discard' }
  | { kind: 'fork' }
  | { kind: 'back'; turnId: string; sessionId: string }

/** By name: of the files before and after a move, where a tree does not say them. */
export interface Permissions {
  from: Record<string, number>
  to: Record<string, number>
}

export function messageOf(what: string, permissions: Permissions, cause: MoveCause): string {
  const isUsual = Object.keys(permissions.from).length + Object.keys(permissions.to).length === 0
  const noted = isUsual ? '' : `${PERMISSIONS}${JSON.stringify(permissions)}\n`
  return `${what}\n\n${noted}${JSON.stringify(cause)}\n`
}

/** How the message of a move begins that brings files back. */
export const BROUGHT_BACK = 'Brought back'
const PERMISSIONS = 'permissions '

/** None of a move of an earlier version, or of a ref that somebody else made. */
export function permissionsIn(message: string): Permissions {
  const line = message.split('\n').find(one => one.startsWith(PERMISSIONS))
  try {
    const { from, to }: Partial<Record<string, unknown>> = JSON.parse(line?.slice(PERMISSIONS.length) ?? '{}')
    return { from: numbersIn(from), to: numbersIn(to) }
  } catch {
    return { from: {}, to: {} }
  }
}

function numbersIn(value: unknown): Record<string, number> {
  const entries = Object.entries(typeof value === 'object' && value !== null ? value : {})
  return Object.fromEntries(entries.filter(([, bits]) => isBits(bits)))
}

/** The last line of the message of a move. One of an earlier version has none, and was a discard in all cases but few. */
export function causeIn(message: string): MoveCause {
  try {
    const { kind, turnId, sessionId }: Partial<Record<string, unknown>> = JSON.parse(
      message.trim().split('\n').at(-1) ?? '',
    )
    if (kind === 'fork') return { kind }
    if (kind === 'back' && typeof turnId === 'string' && typeof sessionId === 'string')
      return { kind, turnId, sessionId }
  } catch {
    // No such line.
  }
  return { kind: 'discard' }
}
