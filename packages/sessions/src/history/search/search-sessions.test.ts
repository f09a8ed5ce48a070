import fc from 'fast-check'
import { expect, test } from 'vitest'
import { needleOf } from './search-sessions.ts'
import { TextMatcher } from './text-matcher.ts'

function finds(terms: string[], text: string): boolean {
  const bytes = Buffer.from(JSON.stringify({ key: text }))
  const needle = needleOf(terms)
  return needle === undefined || needle.test(bytes.toString('latin1'))
}

test.each([
  ['hello', 'say HELLO'],
  ['привет', 'ПРИВЕТ мир'],
  ['straße', 'STRAẞE'],
  ['ΣΑΣ', 'σας'],
  ['kelvin', '\u212aELVIN'],
  ['so', '\u017fO'],
  ['Ångström', '\u212bNGSTRÖM'],
  ['😀', 'a 😀 b'],
  ['𐐀', '𐐨'],
  ['日本', '日本語'],
  ['a"b', 'xA"Bx'],
  ['c:\\dir', 'C:\\DIR'],
  ['.*', 'a.*b'],
  ['nul\0x', 'NUL\0X'],
  ['half\ud800', 'HALF\ud800'],
])('%j is found in %j', (term, text) => {
  expect(new TextMatcher([term]).find(text)).toBeDefined()
  expect(finds([term], text)).toBe(true)
})

test('the needle finds everything that the matcher finds', () => {
  const letters = fc.string({
    unit: fc.constantFrom(...'aAkKsSßẞσςΣıiIİ\u212a\u017f"\\ \n😀é'),
    maxLength: 6,
  })
  const property = fc.property(letters, letters, letters, (before, word, after) => {
    const term = word.trim()
    if (term === '') return
    for (const text of [word, word.toUpperCase(), word.toLowerCase()]) {
      const whole = before + text + after
      if (new TextMatcher([term]).find(whole)) expect(finds([term], whole)).toBe(true)
    }
  })
  fc.assert(property, { seed: 7, numRuns: 500 })
})

test('JSON keys do not match a query', () => {
  const line = '{"event":{"type":"x","message":"hi"}}'
  expect(needleOf(['event'])?.test(line)).toBe(false)
  expect(needleOf(['mess'])?.test(line)).toBe(false)
  expect(needleOf(['event'])?.test('{"event":{"text":"an event\\": yes"}}')).toBe(true)
})

test('there is none for what JSON escapes', () => {
  expect(needleOf(['"', '\n', '\ud800'])).toBeUndefined()
})
