/** The candidate that a person most likely meant, if one is near enough. */
export function didYouMean(written: string, candidates: readonly string[]): string | undefined {
  const word = plain(written)
  let best: string | undefined
  let bestDistance = Math.ceil(word.length / 3) + 1
  for (const candidate of candidates) {
    const distance = isStart(word, plain(candidate)) ? 1 : editDistance(word, plain(candidate))
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** `stop_reason`, `stop-reason` and `stopReason` are the same word to the person who typed it. */
function plain(word: string): string {
  return word.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** `retryAfter` for `retryAfterSeconds`: the unit is what people leave out. */
function isStart(word: string, candidate: string): boolean {
  return word.length >= 4 && candidate.startsWith(word)
}

function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1)
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[right.length] ?? 0
}
