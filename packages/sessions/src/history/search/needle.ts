/**
 * A pattern that finds a query in the bytes of a log, read as Latin-1: the longest of its pieces that JSON leaves as it is,
 * in every case. Whatever holds the query matches; what matches still has to be looked at. Undefined when there is no such
 * piece, as for a lone quote.
 */
export function needleOf(terms: readonly string[]): RegExp | undefined {
  const pieces = terms.flatMap(term => [...term.matchAll(PLAIN)].map(match => [...match[0]]))
  const longest = pieces.reduce((a, b) => (b.length > a.length ? b : a), [])
  if (longest.length === 0) return undefined
  const pattern = longest.slice(0, MAX_NEEDLE_CHARS).map(anyCase).join('')
  return new RegExp(`${pattern}${NOT_IN_A_KEY}`, 'g')
}

/** What `JSON.stringify` escapes, and white space, which a phrase takes for any other, end a piece. */
const PLAIN = /[^\p{Cc}\p{Cs}\s"\\]+/gu

/** Beyond this a longer pattern finds nothing less. */
const MAX_NEEDLE_CHARS = 64

/** An unescaped quote before a colon ends a key, and every line has the same keys. */
const NOT_IN_A_KEY = '(?![A-Za-z_]*":)'

function anyCase(char: string): string {
  const variants = [...new Set([char, ...sameButForCase(char)])].map(latin1OfUtf8)
  const [only] = variants
  if (variants.length === 1 && only !== undefined) return escapeBytes(only)
  if (variants.every(bytes => bytes.length === 1)) return `[${variants.map(escapeBytes).join('')}]`
  return `(?:${variants.map(escapeBytes).join('|')})`
}

function sameButForCase(char: string): string[] {
  const odd = ODD_ASCII.get(char.toLowerCase())
  if (odd !== undefined) return odd
  if (char < '\u0080') return [char.toLowerCase(), char.toUpperCase()]
  // Asked of the engine that judges the matches, so that the two agree on every script.
  everyChar ??= charsUpTo(0x1ffff)
  return [...everyChar.matchAll(new RegExp(char, 'giu'))].map(match => match[0])
}

/** Two letters of ASCII have a third form outside it: the Kelvin sign and the long s. */
const ODD_ASCII = new Map([
  ['k', ['k', 'K', '\u212a']],
  ['s', ['s', 'S', '\u017f']],
])

let everyChar: string | undefined

/** All characters that can have case, and more. */
function charsUpTo(last: number): string {
  let text = ''
  for (let code = 0x20; code <= last; code += 1) {
    if (code < 0xd800 || code > 0xdfff) text += String.fromCodePoint(code)
  }
  return text
}

function latin1OfUtf8(char: string): string {
  return Buffer.from(char).toString('latin1')
}

function escapeBytes(bytes: string): string {
  return bytes.replace(/[^A-Za-z0-9]/g, byte => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)
}
