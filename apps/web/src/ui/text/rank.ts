export interface Findable {
  label: string
  /** Other words that it is looked for by. A hit in them counts less than one in the label. */
  words?: string
}

/**
 * Those that fit what was typed, the best first; of equals the one that came first. Where nothing was typed: all, as
 * they are. Letters that merely come in that order are no hit.
 */
export function rank<T extends Findable>(list: readonly T[], typed: string): readonly T[] {
  if (typed.trim() === '') return list
  return list
    .map(item => ({ item, score: scoreOf(item, typed) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ item }) => item)
}

/** 0 for no hit, else more the closer: the whole label, its beginning, beginnings of words, initials, parts of words, other words. */
export function scoreOf({ label, words = '' }: Findable, typed: string): number {
  const wanted = typed.trim().toLowerCase().replace(/\s+/g, ' ')
  const name = label.toLowerCase()
  if (name === wanted) return 6
  if (name.startsWith(wanted)) return 5
  const asked = wanted.split(' ')
  const begins = wordsOf(name)
  if (asked.every(word => begins.some(begin => begin.startsWith(word)))) return 4
  const isShort = asked.length === 1 && wanted.length > 1 && wanted.length <= MAX_INITIALS
  if (isShort && begins.length > 1 && areInitials(wanted, begins)) return 3
  if (asked.every(word => name.includes(word))) return 2
  const others = wordsOf(words.toLowerCase())
  const isOther = (word: string) =>
    others.some(other => other === word || (word.length >= MIN_BEGINNING && other.startsWith(word)))
  return asked.every(word => name.includes(word) || isOther(word)) ? 1 : 0
}

/** Shorter ones begin too many words. */
const MIN_BEGINNING = 3

function wordsOf(text: string): string[] {
  return text.split(/[^\p{L}\p{N}]+/u).filter(Boolean)
}

/** `ns` and `nse` for "New session": pieces that begin words which follow each other. */
function areInitials(wanted: string, words: readonly string[]): boolean {
  const fits = (rest: string, at: number): boolean => {
    if (rest === '') return true
    const word = words[at]
    if (word === undefined) return false
    for (let length = 1; length <= rest.length && word.startsWith(rest.slice(0, length)); length++) {
      if (fits(rest.slice(length), at + 1)) return true
    }
    return false
  }
  return words.some((_, at) => fits(wanted, at))
}

/** Longer ones are words. It also bounds what the search can take. */
const MAX_INITIALS = 4
