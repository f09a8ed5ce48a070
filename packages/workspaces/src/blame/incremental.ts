import { unquotedPath } from '../git/quoted-path.ts'
/** A commit of the user's repository. */
export interface UserCommit {
  id: string
  author: string
  /** In milliseconds since 1970. */
  at: number
  subject: string
}

/** Consecutive lines of one commit. */
export interface BlamedGroup {
  /** Null for uncommitted lines. */
  commit: string | null
  line: number
  count: number
  originalLine: number
  originalPath: string
  info: UserCommit | undefined
}

/** Parses the output of `git blame --incremental`. */
export function parseIncremental(text: string): BlamedGroup[] {
  const groups: BlamedGroup[] = []
  const infos = new Map<string, UserCommit>()
  for (const line of text.split('\n')) {
    const [, id, original, final, count] = /^([0-9a-f]{40,64}) (\d+) (\d+) (\d+)$/.exec(line) ?? []
    if (id !== undefined) {
      const info = infos.get(id) ?? { id, author: '', at: 0, subject: '' }
      infos.set(id, info)
      groups.push({
        commit: /^0+$/.test(id) ? null : id,
        line: Number(final),
        count: Number(count),
        originalLine: Number(original),
        originalPath: '',
        info,
      })
      continue
    }
    const group = groups.at(-1)
    const cut = line.indexOf(' ')
    if (group?.info === undefined || cut === -1) continue
    const value = line.slice(cut + 1)
    switch (line.slice(0, cut)) {
      case 'author':
        group.info.author = value
        break
      case 'author-time':
        group.info.at = Number(value) * 1000
        break
      case 'summary':
        group.info.subject = value
        break
      case 'filename':
        group.originalPath = unquotedPath(value)
        break
    }
  }
  return groups
}
