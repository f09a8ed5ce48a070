// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest'
import { BoundedMap } from './bounded-map.ts'

beforeEach(() => localStorage.clear())

test('keeps entries for the next page', () => {
  new BoundedMap<string>('m', 3).set('a', 'draft')
  expect(new BoundedMap<string>('m', 3).get('a')).toBe('draft')
})

test('the entry that was written longest ago goes first', () => {
  const map = new BoundedMap<number>('m', 2)
  map.set('a', 1)
  map.set('b', 2)
  map.set('a', 3)
  map.set('c', 4)
  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([3, undefined, 4])
})

test('what somebody else wrote into the storage is no error', () => {
  for (const junk of ['{', '7', '{"a":1}', '[1,[2,3],["ok",5]]']) {
    localStorage.setItem('m', junk)
    expect(new BoundedMap<number>('m', 2).get('a')).toBeUndefined()
  }
  expect(new BoundedMap<number>('m', 2).get('ok')).toBe(5)
})
