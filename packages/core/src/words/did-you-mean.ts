/** The candidate that a misspelled word most likely means; undefined when none is close enough. */
export function didYouMean(written: string, candidates: readonly string[]): string | undefined {
  const word = plain(written)
  const limit = Math.max(1, Math.floor(word.length / 4))
  const near = candidates
    .map(candidate => ({ candidate, distance: distanceOf(word, plain(candidate)) }))
    // Excludes a short word that is within the limit but shares no letter with the candidate.
    .filter(({ candidate, distance }) => distance <= limit && distance < plain(candidate).length)
  const lengthGap = (candidate: string) => Math.abs(plain(candidate).length - word.length)
  near.sort((a, b) => a.distance - b.distance || lengthGap(a.candidate) - lengthGap(b.candidate))
  return near[0]?.candidate
}

/** Equates `maxTurns`, `--max-turns` and `MAX_TURNS`. */
function plain(word: string): string {
  return word
    .slice(0, MAX_COMPARED_CHARS)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
}

const MAX_COMPARED_CHARS = 64

/** A word that contains the whole candidate (`no-json`, `json`) is as close as one with a single error. */
function distanceOf(word: string, candidate: string): number {
  return candidate.length >= 4 && word !== candidate && word.includes(candidate)
    ? 1
    : editDistance(word, candidate)
}

/** Counts letters that are added, missing, replaced, or swapped with their neighbour. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitute = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swaps = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = swaps ? (beforeLast[j - 2] ?? 0) + 1 : substitute
      row.push(Math.min(substitute, swap, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1))
    }
    beforeLast = last
    last = row
  }
  return last[b.length] ?? 0
}
