import { expect, test } from 'vitest'
import { allowsUrl, findsUrl } from './match-rule.ts'

test.each([
  ['https://example.org/docs/*', 'https://example.org/docs/a?b=c', true],
  ['https://example.org/*', 'https://EXAMPLE.org/', true],
  ['https://example.org', 'https://example.org/any/path', true],
  ['example.org', 'https://example.org/a', true],
  ['domain:example.org', 'https://example.org:443/a', true],
  ['https://*.example.org/*', 'https://docs.example.org/a', true],
  ['http://127.0.0.1:3000/*', 'http://127.0.0.1:3000/a', true],
  ['münchen.example', 'https://xn--mnchen-3ya.example/', true],
  ['*', 'https://anything.example/', true],
  ['example.org', 'http://example.org/a', false],
  ['example.org', 'https://evil.example.org/', false],
  ['example.org', 'https://example.org.evil.com/', false],
  ['example.org', 'https://example.org:8443/', false],
  ['example.org', 'https://example.org./', false],
  ['example.org', 'https://example.org@evil.com/', false],
  ['example.org', 'https://user:pw@example.org/', false],
  ['example.org', 'https://evil.com/example.org', false],
  ['example.org', 'https://evil.com\\@example.org/', false],
  ['example.org', 'file:///etc/passwd', false],
  ['example.org', 'javascript:alert(1)', false],
  ['example.org', 'example.org', false],
  ['https://example.org*', 'https://example.org.evil.com/', false],
  ['https://example.org*', 'https://example.org/', false],
  ['https://*example.org/*', 'https://evilexample.org/', false],
  ['https://*.example.org/*', 'https://example.org/', false],
  ['https://example.org/docs/*', 'https://example.org/docs/../admin', false],
  ['https://example.org/docs/*', 'https://example.org/docs/%2e%2e/admin', false],
  ['https://example.org/docs/*', 'https://example.org/doc', false],
  ['https://example.org/*', 'not an address', false],
])('allow %j covers %j: %s', (pattern, url, covered) => {
  expect(allowsUrl(pattern, url)).toBe(covered)
})

test.each([
  ['evil.com', 'https://evil.com/a', true],
  ['evil.com', 'http://evil.com:8080/a', true],
  ['evil.com', 'https://EVIL.com./a', true],
  ['evil.com', 'https://www.evil.com/a', true],
  ['domain:evil.com', 'https://x.y.evil.com/', true],
  ['https://evil.com/*', 'https://good.org@evil.com/', true],
  ['evil.com', 'https://good.org/?to=evil.com', true],
  ['*/admin/*', 'https://good.org/admin/x', true],
  ['http://*', 'http://good.org/', true],
  ['https://*.evil.com/*', 'https://evil.com.good.org/', false],
  ['http://*', 'https://good.org/', false],
  ['evil.com', 'https://notevil.org/', false],
  ['evil.com', 'rubbish', false],
])('deny %j finds %j: %s', (pattern, url, found) => {
  expect(findsUrl(pattern, url)).toBe(found)
})
