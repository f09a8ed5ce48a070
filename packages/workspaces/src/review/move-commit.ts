import { objectId } from '../git/edited-tree.ts'
import { OWN_IDENTITY } from '../git/git.ts'
import { isBits } from '../git/permissions.ts'
import type { GitObject } from './object-pack.ts'

/** Reason for the change of files, and for `back` the turn, with the session that continues from before it. */
export type MoveCause =
  | { kind: 'discard' }
  | { kind: 'fork' }
  | { kind: 'back'; turnId: string; sessionId: string }

/** Permissions by name before and after a move, where a tree cannot store them. */
export interface Permissions {
  from: Record<string, number>
  to: Record<string, number>
}

export function moveMessage(what: string, permissions: Permissions, cause: MoveCause): string {
  const isUsual = Object.keys(permissions.from).length + Object.keys(permissions.to).length === 0
  const noted = isUsual ? '' : `${PERMISSIONS}${JSON.stringify(permissions)}\n`
  return `${what}\n\n${noted}${JSON.stringify(cause)}\n`
}

/** First words of the message of a move that brings files back. */
export const BROUGHT_BACK = 'Brought back'
const PERMISSIONS = 'permissions '

/** Permissions noted in a message. Empty for a move of an earlier version, or a ref that somebody else made. */
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

/**
 * The cause from the last line of a move's message. Earlier versions wrote none; nearly all of their moves were
 * discards.
 */
export function causeIn(message: string): MoveCause {
  try {
    const { kind, turnId, sessionId }: Partial<Record<string, unknown>> = JSON.parse(
      message.trim().split('\n').at(-1) ?? '',
    )
    if (kind === 'fork') return { kind }
    if (kind === 'back' && typeof turnId === 'string' && typeof sessionId === 'string')
      return { kind, turnId, sessionId }
  } catch {
    // The message has no such line.
  }
  return { kind: 'discard' }
}

/** Builds a commit here, so that one git process stores both commits of a move. */
export function commitOf(tree: string, parent: string | undefined, message: string): GitObject {
  const by = `${OWN_IDENTITY.GIT_COMMITTER_NAME} <${OWN_IDENTITY.GIT_COMMITTER_EMAIL}> ${Math.floor(Date.now() / 1000)} +0000`
  const head = [`tree ${tree}`, ...(parent === undefined ? [] : [`parent ${parent}`])]
  // Git reads a message only up to a null byte.
  const said = `${message.replaceAll('\0', '').trimEnd()}\n`
  const content = Buffer.from([...head, `author ${by}`, `committer ${by}`, '', said].join('\n'))
  return { type: 'commit', id: objectId('commit', content, tree), content }
}
