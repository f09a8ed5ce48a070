export interface Snippet {
  /** One line around the first match. */
  text: string
  /** Where in `text` the words are: start and end. */
  ranges: [start: number, end: number][]
}

/** Finds all words of a query in a text. Case does not count, in any script. */
export class TextMatcher {
  readonly #each: RegExp[]
  readonly #any: RegExp

  constructor(terms: readonly string[]) {
    const patterns = terms.map(patternOf)
    this.#each = patterns.map(pattern => new RegExp(pattern, 'iu'))
    // The longest first: of "car" and "carpet" the second is to be marked where both are.
    this.#any = new RegExp(patterns.toSorted((a, b) => b.length - a.length).join('|'), 'giu')
  }

  /** Undefined when a word is missing. */
  find(text: string): Snippet | undefined {
    if (!this.#each.every(term => term.test(text))) return undefined
    const first = text.search(this.#any)
    const start = charStart(text, Math.max(0, first - CHARS_BEFORE))
    const end = charStart(text, Math.min(text.length, start + SNIPPET_CHARS))
    const before = start > 0 ? '…' : ''
    const cut = text.slice(start, end)
    const ranges = [...cut.matchAll(this.#any)].map(({ index, 0: match }): [number, number] => [
      index + before.length,
      index + before.length + match.length,
    ])
    // One for one, so that the ranges stay right.
    return { text: `${before}${cut.replace(/\s/g, ' ')}${end < text.length ? '…' : ''}`, ranges }
  }
}

const CHARS_BEFORE = 60
const SNIPPET_CHARS = 240

function patternOf(term: string): string {
  return term
    .split(/\s+/)
    .map(word => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
    .join('\\s+')
}

/** Not between the halves of a character. */
function charStart(text: string, index: number): number {
  const isSecondHalf = /^[\udc00-\udfff]/.test(text.slice(index, index + 1))
  return isSecondHalf && index > 0 ? index - 1 : index
}
