import { describe, expect, test } from 'vitest'
import { chooseSurplus, parseMemoryLimit, surplusAgents } from './kept-memory.ts'

const MB = 2 ** 20

describe('the agents that are to go', () => {
  const idle = [
    { name: 'old', lastUsedAt: 1, bytes: 100 * MB },
    { name: 'newest', lastUsedAt: 4, bytes: 100 * MB },
    { name: 'large', lastUsedAt: 2, bytes: 900 * MB },
    { name: 'new', lastUsedAt: 3, bytes: 100 * MB },
  ]
  const surplus = (allowed: number) => chooseSurplus(idle, allowed).map(({ name }) => name)

  test('are none while they fit, however many there are', () => {
    expect(surplus(1200 * MB)).toEqual([])
    const many = Array.from({ length: 100 }, (_, lastUsedAt) => ({ lastUsedAt, bytes: MB }))
    expect(chooseSurplus(many, 100 * MB)).toEqual([])
  })

  test('are the least recently used, until the rest fits', () => {
    expect(surplus(1100 * MB)).toEqual(['old'])
    expect(surplus(300 * MB)).toEqual(['old', 'large'])
    expect(surplus(1)).toEqual(['old', 'large', 'new'])
  })

  test('include the last one only when nothing may be kept', () => {
    expect(surplus(0)).toEqual(['old', 'large', 'new', 'newest'])
  })

  test('are found by the memory that they really use', async () => {
    const self = { pid: process.pid, lastUsedAt: 1 }
    const newer = { pid: process.pid, lastUsedAt: 2 }
    expect(await surplusAgents([self, newer], { bytes: 5 * MB })).toEqual([self])
    expect(await surplusAgents([self, newer], { bytes: 2 ** 40 })).toEqual([])
    const gone = { pid: 2 ** 30, lastUsedAt: 3 }
    expect(await surplusAgents([self, gone], { bytes: 5 * MB })).toEqual([self])
  })
})

test.each([
  ['2G', { bytes: 2048 * MB }],
  ['1.5 GiB', { bytes: 1536 * MB }],
  ['500m', { bytes: 500 * MB }],
  ['512kB', { bytes: MB / 2 }],
  ['25%', { share: 0.25 }],
  ['0', { bytes: 0 }],
  ['', undefined],
  ['500', undefined],
  ['101%', undefined],
  ['-1G', undefined],
  ['2T', undefined],
  ['lots', undefined],
])('%j as a limit of memory', (text, limit) => {
  expect(parseMemoryLimit(text)).toEqual(limit)
})
