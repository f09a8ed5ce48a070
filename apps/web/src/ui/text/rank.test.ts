import { expect, test } from 'vitest'
import { rank, scoreOf } from './rank.ts'

const found = (labels: string[], typed: string) =>
  rank(
    labels.map(label => ({ label })),
    typed,
  ).map(({ label }) => label)

test('the whole label comes before its beginning, that before a word, initials and a part of a word', () => {
  const labels = ['Preset list', 'Reset a rule', 'All resets', 'Reset', 'Run every set']
  expect(found(labels, 'reset')).toEqual(['Reset', 'Reset a rule', 'All resets', 'Preset list'])
  expect(found(['Permissions', 'New session', 'News'], 'ns')).toEqual(['New session', 'Permissions'])
  expect(found(['News', 'New session'], 'news')).toEqual(['News', 'New session'])
})

test('of equals the one that came first stays first', () => {
  expect(found(['Mend the parser', 'Mend the test', 'Mend the docs'], 'mend')).toEqual([
    'Mend the parser',
    'Mend the test',
    'Mend the docs',
  ])
})

test('letters that happen to come in that order are no hit', () => {
  expect(found(['CODEXASK', 'MANYTOOLS read everything', 'New session'], 'delete')).toEqual([])
  expect(found(['MANYTOOLS read everything'], 'settings')).toEqual([])
  expect(found(['New session'], 'nst')).toEqual([])
})

test('several words may come in any order, and other words count less than the label', () => {
  expect(found(['Show Changes', 'Changes shown'], 'changes show')).toEqual(['Changes shown', 'Show Changes'])
  const appearance = { label: 'Appearance', words: 'theme dark light' }
  expect(rank([appearance, { label: 'Dark mode of the table' }], 'dark')[1]).toBe(appearance)
  expect(scoreOf(appearance, 'dark theme')).toBeGreaterThan(0)
  expect(scoreOf(appearance, 'red theme')).toBe(0)
  // Two letters begin too many words, unless they are one.
  expect(scoreOf(appearance, 'da')).toBe(0)
  expect(scoreOf({ label: 'Devices', words: 'qr code' }, 'qr')).toBe(1)
})

test('nothing typed leaves everything as it is, and hostile text ends at once', () => {
  expect(found(['b', 'a'], '  ')).toEqual(['b', 'a'])
  expect(found(['a '.repeat(5000)], 'a'.repeat(5000))).toEqual([])
})
