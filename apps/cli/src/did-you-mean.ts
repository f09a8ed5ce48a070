/** The candidate that was most likely meant, if one is near enough. */
export function didYouMean(written: string, candidates: readonly string[]): string | undefined {
  const word = written.replace(/^-+/, '').toLowerCase()
  const limit = Math.max(2, Math.ceil(word.length / 3))
  const near = candidates
    .map(candidate => ({ candidate, distance: editDistance(word, candidate.toLowerCase()) }))
    // A word that shares nothing is no misspelling, however short it is.
    .filter(({ candidate, distance }) => distance <= limit && distance < candidate.length)
  near.sort((a, b) => a.distance - b.distance || lengthGap(a.candidate) - lengthGap(b.candidate))
  return near[0]?.candidate

  function lengthGap(candidate: string): number {
    return Math.abs(candidate.length - word.length)
  }
}

/** Letters added, left out, exchanged, or swapped with their neighbour. */
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
