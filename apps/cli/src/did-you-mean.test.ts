import { expect, test } from 'vitest'
import { didYouMean } from './did-you-mean.ts'

const WORDS = ['mode', 'model', 'max-turns', 'json']

test.each([
  ['modle', 'model'],
  ['MODE', 'mode'],
  ['--max-turn', 'max-turns'],
  ['maxturns', 'max-turns'],
  ['jsom', 'json'],
  ['x', undefined],
  ['', undefined],
  ['something-else', undefined],
])('%j is %j', (written, meant) => {
  expect(didYouMean(written, WORDS)).toBe(meant)
})
