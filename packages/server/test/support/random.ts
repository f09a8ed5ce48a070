/** Numbers that are the same in every run. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1664525 + 1013904223) % 2 ** 32
    return state / 2 ** 32
  }
}

export function noise(random: () => number, max: number): Buffer {
  return Buffer.from(Array.from({ length: Math.floor(random() * max) }, () => Math.floor(random() * 256)))
}
