import { objectId } from '../git/edited-tree.ts'
import type { GitObject } from './object-pack.ts'

/** Identity of Chirality's own commits, which are not the user's. */
export const IDENTITY = {
  GIT_AUTHOR_NAME: 'Chirality',
  GIT_AUTHOR_EMAIL: 'chirality@localhost',
  GIT_COMMITTER_NAME: 'Chirality',
  GIT_COMMITTER_EMAIL: 'chirality@localhost',
}

/** Builds a commit here, so that one git process stores both commits of a move. */
export function commitOf(tree: string, parent: string | undefined, message: string): GitObject {
  const by = `${IDENTITY.GIT_COMMITTER_NAME} <${IDENTITY.GIT_COMMITTER_EMAIL}> ${Math.floor(Date.now() / 1000)} +0000`
  const head = [`tree ${tree}`, ...(parent === undefined ? [] : [`parent ${parent}`])]
  // Git reads a message only up to a null byte.
  const said = `${message.replaceAll('\0', '').trimEnd()}\n`
  const content = Buffer.from([...head, `author ${by}`, `committer ${by}`, '', said].join('\n'))
  return { type: 'commit', id: objectId('commit', content, tree), content }
}
