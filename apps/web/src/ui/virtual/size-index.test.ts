import { describe, expect, test } from 'vitest'
import { SizeIndex } from './size-index.ts'

/** Random numbers that are the same in every run. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}

describe('SizeIndex', () => {
  test('an empty list has no height, and no row but the first', () => {
    const index = new SizeIndex()
    expect([index.total, index.indexAt(100), index.offsetOf(5)]).toEqual([0, 0, 0])
  })

  test('it says the same as adding up, whatever is added, removed and measured', () => {
    const random = numbers(7)
    const index = new SizeIndex()
    let sizes: number[] = []
    for (let round = 0; round < 300; round++) {
      const count = random() < 0.3 ? Math.floor(random() * 400) : sizes.length
      const estimate = (i: number) => 10 + (i % 7)
      index.resize(count, estimate)
      sizes = Array.from({ length: count }, (_, i) => sizes[i] ?? estimate(i))
      const shift = random() < 0.2 ? Math.floor(random() * 100) - 50 : 0
      index.shift(shift, estimate)
      sizes =
        shift < 0 ? sizes.slice(-shift) : [...Array.from({ length: shift }, (_, i) => estimate(i)), ...sizes]
      const at = Math.floor(random() * Math.max(1, sizes.length))
      const size = Math.floor(random() * 90)
      index.set(at, size)
      if (at < sizes.length) sizes[at] = size
      const place = Math.floor(random() * sizes.length)
      const before = sizes.slice(0, place).reduce((sum, one) => sum + one, 0)
      expect(index.offsetOf(place)).toBe(before)
      expect(index.total).toBe(sizes.reduce((sum, one) => sum + one, 0))
    }
  })

  test('the row at a place', () => {
    const index = new SizeIndex()
    index.resize(4, () => 10)
    index.set(1, 30)
    expect([-5, 0, 9, 10, 39, 40, 59, 60, 1000].map(offset => index.indexAt(offset))).toEqual([
      0, 0, 0, 1, 1, 2, 3, 3, 3,
    ])
  })
})
