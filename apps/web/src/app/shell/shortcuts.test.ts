import { expect, test } from 'vitest'
import { shortcutOf } from './shortcuts.ts'

const key = (name: string, held: Partial<Record<'ctrlKey' | 'metaKey' | 'altKey', boolean>> = {}) => ({
  key: name,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...held,
})

test.each([
  [key('k', { ctrlKey: true }), 'palette'],
  [key('K', { metaKey: true }), 'palette'],
  [key('?'), 'shortcuts'],
  [key('n'), 'new-session'],
  [key('j'), 'next-session'],
  [key('k'), 'previous-session'],
])('%j', (event, action) => expect(shortcutOf(event, false)).toBe(action))

test('letters that are typed into a field are no shortcuts, but the palette opens from there, too', () => {
  expect(shortcutOf(key('n'), true)).toBeUndefined()
  expect(shortcutOf(key('k', { ctrlKey: true }), true)).toBe('palette')
})

test("the browser's own shortcuts are left alone", () => {
  expect(shortcutOf(key('n', { ctrlKey: true }), false)).toBeUndefined()
  expect(shortcutOf(key('f', { metaKey: true }), false)).toBeUndefined()
})
