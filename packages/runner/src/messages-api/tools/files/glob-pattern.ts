import { ToolError } from '../built-in-tool.ts'

/** Matches a path with `/`: `*` and `?` within a name, `**` across folders, `[a-z]`, `{a,b}`. No pattern is slow. */
export function globMatcher(pattern: string): (path: string) => boolean {
  if (pattern.length > MAX_PATTERN_CHARS) throw new ToolError('The pattern is too long.')
  const alternatives = expandBraces(pattern).map(text =>
    text.replace(/^\.\//, '').split('/').map(parseSegment),
  )
  return path => {
    const names = path.split('/')
    return alternatives.some(segments => matchSegments(segments, names))
  }
}

type Segment = 'any-folders' | Token[]

type Token =
  | { kind: 'char'; char: string }
  | { kind: 'one' }
  | { kind: 'many' }
  | { kind: 'set'; isNegated: boolean; ranges: [string, string][] }

const MAX_PATTERN_CHARS = 1000
const MAX_ALTERNATIVES = 256

function expandBraces(pattern: string): string[] {
  const done: string[] = []
  const waiting = [pattern]
  while (waiting.length > 0) {
    const text = waiting.pop() ?? ''
    const match = /^(.*?)\{([^{}]*)\}(.*)$/s.exec(text)
    if (match === null) done.push(text)
    else waiting.push(...(match[2] ?? '').split(',').map(part => `${match[1]}${part}${match[3]}`))
    if (done.length + waiting.length > MAX_ALTERNATIVES)
      throw new ToolError('The pattern has too many alternatives.')
  }
  return done
}

function parseSegment(text: string): Segment {
  if (text === '**') return 'any-folders'
  const tokens: Token[] = []
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? ''
    const end = char === '[' ? text.indexOf(']', at + 2) : -1
    if (end !== -1) {
      tokens.push(parseSet(text.slice(at + 1, end)))
      at = end
    } else if (char === '*') {
      if (tokens.at(-1)?.kind !== 'many') tokens.push({ kind: 'many' })
    } else tokens.push(char === '?' ? { kind: 'one' } : { kind: 'char', char })
  }
  return tokens
}

function parseSet(body: string): Token {
  const isNegated = body.startsWith('!') || body.startsWith('^')
  const ranges: [string, string][] = []
  const chars = [...(isNegated ? body.slice(1) : body)]
  for (let at = 0; at < chars.length; at += 1) {
    const from = chars[at] ?? ''
    const isRange = chars[at + 1] === '-' && at + 2 < chars.length
    ranges.push([from, isRange ? (chars[at + 2] ?? from) : from])
    if (isRange) at += 2
  }
  return { kind: 'set', isNegated, ranges }
}

/** Backtracks only to the last `**`: no earlier one ever needs to match more. */
function matchSegments(segments: readonly Segment[], names: readonly string[]): boolean {
  return matchWild(segments, names, {
    isWild: segment => segment === 'any-folders',
    fits: (segment, name) => segment !== 'any-folders' && matchName(segment, name),
  })
}

function matchName(tokens: readonly Token[], name: string): boolean {
  return matchWild(tokens, [...name], { isWild: token => token.kind === 'many', fits: matchChar })
}

interface Wild<P, T> {
  isWild(part: P): boolean
  fits(part: P, item: T): boolean
}

function matchWild<P, T>(pattern: readonly P[], items: readonly T[], { isWild, fits }: Wild<P, T>): boolean {
  let at = 0
  let wildAt = -1
  let wildItem = 0
  for (let item = 0; item < items.length; ) {
    const part = pattern[at]
    if (part !== undefined && isWild(part)) {
      wildAt = at
      wildItem = item
      at += 1
    } else if (part !== undefined && fits(part, items[item] as T)) {
      at += 1
      item += 1
    } else if (wildAt !== -1) {
      at = wildAt + 1
      wildItem += 1
      item = wildItem
    } else return false
  }
  return pattern.slice(at).every(isWild)
}

function matchChar(token: Token, char: string): boolean {
  switch (token.kind) {
    case 'char':
      return token.char === char
    case 'one':
      return true
    case 'set':
      return token.ranges.some(([from, to]) => from <= char && char <= to) !== token.isNegated
    case 'many':
      return false
  }
}
