import { expect, test } from 'vitest'
import { normalRemote } from './mirrored.ts'

test.each([
  ['https://someone:secret@Example.com/team/shop.git', 'example.com/team/shop'],
  ['https://example.com:8443/team/shop/', 'example.com/team/shop'],
  ['ssh://git@example.com:22/team/shop.git', 'example.com/team/shop'],
  ['git@example.com:team/shop.git', 'example.com/team/shop'],
  ['example.com:team/shop', 'example.com/team/shop'],
  ['/srv/git/shop.git', undefined],
  ['../shop', undefined],
  ['file:///srv/git/shop.git', undefined],
])('the remote %s has one name on every machine, without its login', (url, name) => {
  expect(normalRemote(url)).toBe(name)
})
