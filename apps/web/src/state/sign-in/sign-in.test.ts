import { expect, test } from 'vitest'
import { secretOf } from './sign-in.ts'

const HERE = 'http://127.0.0.1:4096'

test('the secret of a link to this server', () => {
  expect(secretOf(`${HERE}/#sign-in=aB_9-`, HERE)).toBe('aB_9-')
  expect(secretOf(`  ${HERE}/#sign-in=aB_9-\n`, HERE)).toBe('aB_9-')
})

test.each([
  ...[
    '',
    'hello',
    `${HERE}/`,
    `${HERE}/#sign-in=`,
    `${HERE}/#sign-in=a b`,
    `${HERE}/#sign-out=a`,
    '#sign-in=a',
  ],
  ...['http://127.0.0.1:4097/#sign-in=a', 'http://evil.example/#sign-in=a', 'javascript:alert(1)#sign-in=a'],
])('%j is none', link => expect(secretOf(link, HERE)).toBeUndefined())
