/** A commit of the user's repository. */
export interface UserCommit {
  id: string
  author: string
  /** In milliseconds since 1970. */
  at: number
  subject: string
}

/** Lines that one commit has. */
export interface BlamedGroup {
  /** Null for what is in no commit. */
  commit: string | null
  line: number
  count: number
  originalLine: number
  originalPath: string
  info: UserCommit | undefined
}

/** Reads the output of `git blame --incremental`. */
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
        ...{ line: Number(final), count: Number(count), originalLine: Number(original) },
        ...{ originalPath: '', info },
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
        group.originalPath = unquoted(value)
        break
    }
  }
  return groups
}

/** Git quotes a name that contains a line break, a quote or a control character. */
function unquoted(name: string): string {
  const [, inside] = /^"(.*)"$/s.exec(name) ?? []
  if (inside === undefined) return name
  const bytes: Buffer[] = []
  for (const [, octal, letter, plain] of inside.matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gs)) {
    if (octal !== undefined) bytes.push(Buffer.from([Number.parseInt(octal, 8)]))
    else bytes.push(Buffer.from(letter === undefined ? (plain ?? '') : (ESCAPES[letter] ?? letter)))
  }
  return Buffer.concat(bytes).toString('utf8')
}

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ a: '\x07', b: '\b', t: '\t', n: '\n', v: '\v', f: '\f', r: '\r' },
}
