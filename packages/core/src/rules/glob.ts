/** A parsed pattern: literal parts with wildcards between them. */
export interface Glob {
  readonly parts: readonly string[]
}

export interface GlobOptions {
  ignoreCase?: boolean
}

/** `*` matches anything; `\*` is a star, `\\` a backslash, `\n` a line break. Any other backslash is literal. */
export function parseGlob(pattern: string): Glob {
  const parts = ['']
  for (let i = 0; i < pattern.length; i += 1) {
    const char = pattern.charAt(i)
    const escaped = char === '\\' ? ESCAPES.get(pattern.charAt(i + 1)) : undefined
    if (escaped !== undefined) {
      parts.push(`${parts.pop()}${escaped}`)
      i += 1
    } else if (char === '*') {
      parts.push('')
    } else {
      parts.push(`${parts.pop()}${char}`)
    }
  }
  return { parts }
}

/** A pattern that matches exactly this text. */
export function escapeGlob(text: string): string {
  return text
    .replace(/\\(?=[\\*n\n]|$)/g, '\\\\')
    .replaceAll('*', '\\*')
    .replaceAll('\n', '\\n')
}

/** The text of a pattern without a star. */
export function literalOf({ parts }: Glob): string | undefined {
  return parts.length === 1 ? parts[0] : undefined
}

/** Linear in the text for each part: the leftmost match of a part is always as good as a later one. */
export function globMatches(glob: Glob, text: string, { ignoreCase = false }: GlobOptions = {}): boolean {
  const fold = (value: string) => (ignoreCase ? value.toLowerCase() : value)
  const folded = fold(text)
  const [first = '', ...rest] = glob.parts.map(fold)
  const last = rest.pop()
  if (last === undefined) return folded === first
  if (folded.length < first.length + last.length) return false
  if (!folded.startsWith(first) || !folded.endsWith(last)) return false
  const end = folded.length - last.length
  let from = first.length
  for (const part of rest) {
    const at = folded.indexOf(part, from)
    if (at === -1 || at + part.length > end) return false
    from = at + part.length
  }
  return true
}

/** The same pattern, matched anywhere in a text. */
export function anywhere({ parts }: Glob): Glob {
  return { parts: ['', ...parts, ''] }
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['*', '*'],
  ['\\', '\\'],
  ['n', '\n'],
])
