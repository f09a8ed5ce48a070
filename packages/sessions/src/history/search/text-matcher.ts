export interface Snippet {
  /** One line around the first match. */
  text: string
  /** The positions of the words in `text`: start and end. */
  ranges: [start: number, end: number][]
}

/** Finds all words of a query in a text, in any case and script. */
export class TextMatcher {
  readonly #each: RegExp[]
  readonly #any: RegExp

  constructor(terms: readonly string[]) {
    const patterns = terms.map(patternOf)
    this.#each = patterns.map(pattern => new RegExp(pattern, 'iu'))
    // Longest first: where "car" and "carpet" both match, "carpet" is marked.
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
    // One character for one, so that the ranges stay valid.
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

/** Does not split a surrogate pair. */
function charStart(text: string, index: number): number {
  const isSecondHalf = /^[\udc00-\udfff]/.test(text.slice(index, index + 1))
  return isSecondHalf && index > 0 ? index - 1 : index
}
