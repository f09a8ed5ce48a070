import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CORPUS } from './support/claude-corpus.ts'
import { SESSION, translate } from './support/claude-lines.ts'
import { checkShape } from './support/event-shapes.ts'
import { mutatedLine } from './support/mutations.ts'

describe('E82: nothing that an agent prints makes the translator throw', () => {
  test('lines with fields missing or wrong', () => {
    fc.assert(
      fc.property(fc.array(mutatedLine(CORPUS), { minLength: 1, maxLength: 12 }), lines => {
        for (const event of translate(lines).events) checkShape(event, SESSION)
      }),
      { numRuns: 2000 },
    )
  })

  test('any JSON at all', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 5 }), lines => {
        const { events } = translate(lines)
        expect(events).toHaveLength(lines.length)
        for (const event of events) checkShape(event, SESSION)
      }),
    )
  })

  test('every line of the corpus as it is, in any order', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...CORPUS]), lines => {
        for (const event of translate(lines).events) {
          checkShape(event, SESSION)
          expect(event.type).not.toBe('native:unknown')
        }
      }),
    )
  })
})
