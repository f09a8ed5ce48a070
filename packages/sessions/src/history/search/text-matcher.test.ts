import { expect, test } from 'vitest'
import { TextMatcher } from './text-matcher.ts'

function marked(terms: string[], text: string): string | undefined {
  const found = new TextMatcher(terms).find(text)
  return found?.ranges.reduceRight(
    (shown, [start, end]) => `${shown.slice(0, start)}[${shown.slice(start, end)}]${shown.slice(end)}`,
    found.text,
  )
}

test.each([
  [['word'], 'a WORD, words', 'a [WORD], [word]s'],
  [['b', 'a'], 'a and b', '[a] [a]nd [b]'],
  [['a phrase'], 'A\n phrase', '[A  phrase]'],
  [['car', 'carpet'], 'a car on a carpet', 'a [car] on a [carpet]'],
  [['.*'], 'a.*b', 'a[.*]b'],
  [['$&'], 'costs $& or', 'costs [$&] or'],
])('%j in %j', (terms, text, shown) => {
  expect(marked(terms, text)).toBe(shown)
})

test('a text matches only if it has every word', () => {
  expect(marked(['here', 'missing'], 'only here')).toBeUndefined()
})

test('a long text is cut around the first match, between characters', () => {
  const found = new TextMatcher(['needle']).find(`${'😀'.repeat(500)}needle${'😀'.repeat(500)}`)
  expect(found?.text.startsWith('…😀')).toBe(true)
  expect(found?.text.endsWith('😀…')).toBe(true)
  const [start, end] = found?.ranges[0] ?? [0, 0]
  expect(found?.text.slice(start, end)).toBe('needle')
})
