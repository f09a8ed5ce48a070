import { expect, test } from 'vitest'
import { readAmounts } from './amounts.ts'
import { withFields } from './set-limits.ts'

test('amounts are read, none is no limit, and what is not given stays', () => {
  const given = { usd: '2.50', tokens: '1000', minutes: 'none', turns: undefined }
  expect(readAmounts(given)).toEqual({ usd: 2.5, tokens: 1000, minutes: null })
})

test.each([
  [
    { usd: '0' },
    '--usd must be a number of dollars above 0, at most 1000000, or none for no limit; not "0".',
  ],
  [{ usd: '-1' }, 'not "-1"'],
  [{ usd: '$5' }, 'not "$5"'],
  [{ usd: '1e99' }, 'not "1e99"'],
  [{ usd: 'Infinity' }, 'not "Infinity"'],
  [{ tokens: '1.5' }, '--tokens must be a whole number of tokens'],
  [{ tokens: '99999999999999999999' }, 'at most 9007199254740991'],
  [{ minutes: '525601' }, 'at most 525600'],
  [{ turns: 'None' }, 'not "None"'],
])('%j is refused', (given, message) => {
  expect(() => readAmounts(given)).toThrow(message)
})

test.each([
  ['no frontmatter', 'Do it.\n', '---\nbudget_usd: 2\nbudget_minutes: 5\n---\nDo it.\n'],
  [
    'other fields',
    '---\nmodel: opus # mine\n---\nDo it.\n',
    '---\nmodel: opus # mine\nbudget_usd: 2\nbudget_minutes: 5\n---\nDo it.\n',
  ],
  [
    'a budget of before',
    '---\r\nbudget_usd: 1\r\nbudget_tokens: 7\r\nmodel: opus\r\n---\r\n--- below\r\n',
    '---\r\nbudget_usd: 2\r\nmodel: opus\r\nbudget_minutes: 5\r\n---\r\n--- below\r\n',
  ],
])('the budget is written into a persona with %s', (_what, before, after) => {
  expect(withFields(before, { budget_usd: 2, budget_tokens: null, budget_minutes: 5 })).toBe(after)
})

test('taking a limit away that is not there changes nothing', () => {
  expect(withFields('Do it.\n', { budget_usd: null })).toBe('Do it.\n')
})
