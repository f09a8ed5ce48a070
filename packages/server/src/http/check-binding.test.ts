import { expect, test } from 'vitest'
import { checkBinding, isLoopback } from './check-binding.ts'

test.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('%s counts as loopback', host => {
  expect(isLoopback(host)).toBe(true)
  expect(() => checkBinding({ host })).not.toThrow()
})

test.each([
  '0.0.0.0',
  '::',
  '192.168.1.5',
  '10.0.0.1',
  'my-host',
  'localhost.evil.example',
  '127.0.0.1.nip.io',
  '',
])('%j is not, and needs more than its name', host => {
  expect(isLoopback(host)).toBe(false)
  expect(() => checkBinding({ host })).toThrow(expect.objectContaining({ code: 'unsafe-binding' }))
  expect(() => checkBinding({ host, exposed: { proxy: true } })).toThrow('Name the address that browsers use')
  const plain = { host, exposed: { proxy: true } as const, publicOrigins: ['http://agents.example'] }
  expect(() => checkBinding(plain)).toThrow('not encrypted')
  expect(() => checkBinding({ ...plain, publicOrigins: ['https://agents.example'] })).not.toThrow()
})

test('a name that is no origin is refused before anything starts', () => {
  expect(() => checkBinding({ publicOrigins: ['https://agents.example/path'] })).toThrow('is not an origin')
})
