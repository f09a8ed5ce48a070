/** ` Did you mean "x"?` for the candidate nearest to what was written, or nothing. */
export function didYouMean(written: string, candidates: readonly string[]): string {
  const word = plain(written)
  const [best] = candidates
    .map(candidate => ({ candidate, distance: editDistance(word, plain(candidate)) }))
    .filter(({ distance }) => distance <= Math.max(1, Math.floor(word.length / 4)))
    .sort((left, right) => left.distance - right.distance)
  return best ? ` Did you mean "${best.candidate}"?` : ''
}

/** `maxTurns`, `max-turns` and `MAX_TURNS` are one word to whoever typed it. */
function plain(word: string): string {
  return word
    .slice(0, MAX_COMPARED_CHARS)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
}

const MAX_COMPARED_CHARS = 64

function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let i = 0; i < left.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < right.length; j++) {
      const swap = (row[j] ?? 0) + (left[i] === right[j] ? 0 : 1)
      next.push(Math.min(swap, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[right.length] ?? 0
}
