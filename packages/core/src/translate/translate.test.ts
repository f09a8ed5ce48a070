import { expect, test } from 'vitest'
import { createTranslator, TRANSLATABLE_HARNESSES } from './translate.ts'

test('every harness on the list has a translator of its own', () => {
  for (const harnessId of TRANSLATABLE_HARNESSES) {
    const translator = createTranslator(harnessId, { sessionId: 'ours' })
    const value = { type: 'something-new' }
    expect(translator?.translateRecord({ kind: 'json', value, bytes: 1, offset: 0 })).toStrictEqual([
      {
        type: 'native:unknown',
        sessionId: 'ours',
        harness: harnessId,
        nativeType: 'something-new',
        raw: value,
      },
    ])
    expect(translator?.end()).toStrictEqual([])
  }
})

test('claude-code has a translator', () => {
  expect(TRANSLATABLE_HARNESSES).toContain('claude-code')
})

test.each(['no-such-agent', '', 'constructor'])('there is none for %j', harnessId => {
  expect(createTranslator(harnessId, { sessionId: 'ours' })).toBeUndefined()
})
