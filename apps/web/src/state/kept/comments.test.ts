// @vitest-environment happy-dom
import { expect, test } from 'vitest'
import { type Comment, withComments } from './comments.ts'

const comment: Comment = {
  id: '1',
  path: 'src/a.ts',
  line: 43,
  side: 'new',
  quote: '  const last = 1',
  text: 'Name this withoutCR.',
}

test('comments stand under the message, each with its place and its line', () => {
  expect(withComments('Go on.', [comment])).toBe(
    'Go on.\n\nComments on the changes:\n- src/a.ts:43\n  > const last = 1\n  Name this withoutCR.',
  )
})

test('comments alone are a message, too', () => {
  expect(withComments('', [{ ...comment, side: 'old' }])).toMatch(
    /^Comments on the changes:\n- src\/a.ts, removed line 43/,
  )
})

test('a message without comments stays as it is', () => {
  expect(withComments('Go on.', [])).toBe('Go on.')
})
