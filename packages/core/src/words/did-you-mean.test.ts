import { expect, test } from 'vitest'
import { didYouMean } from './did-you-mean.ts'

const WORDS = ['mode', 'model', 'max-turns', 'json', 'disallowed_tools']

test.each([
  ['modle', 'model'],
  ['MODE', 'mode'],
  ['--max-turn', 'max-turns'],
  ['maxTurns', 'max-turns'],
  ['jsom', 'json'],
  ['disalowed_tols', 'disallowed_tools'],
  ['x', undefined],
  ['', undefined],
  ['color', undefined],
  ['mud', undefined],
  ['something-else', undefined],
  ['x'.repeat(100_000), undefined],
])('%.20j is taken for %j', (written, meant) => {
  expect(didYouMean(written, WORDS)).toBe(meant)
})
