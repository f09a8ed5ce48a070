import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { APP_CORPUS, EXEC_CORPUS } from './support/codex-corpus.ts'
import {
  fold,
  type Line,
  SESSION,
  type Translated,
  translateApp,
  translateExec,
} from './support/codex-lines.ts'
import { checkShape } from './support/event-shapes.ts'
import { mutatedLine } from './support/mutations.ts'

const VOICES: [
  name: string,
  corpus: readonly Line[],
  translate: (lines: readonly unknown[]) => Translated,
][] = [
  ['exec', EXEC_CORPUS, lines => translateExec(lines)],
  ['app-server', APP_CORPUS, lines => translateApp(lines)],
]

describe.each(VOICES)(
  'C82: nothing that %s prints makes the translator throw',
  (_name, corpus, translate) => {
    test('C82: lines with fields missing or wrong', () => {
      fc.assert(
        fc.property(fc.array(mutatedLine(corpus), { minLength: 1, maxLength: 12 }), lines => {
          const { events } = translate(lines)
          for (const event of events) checkShape(event, SESSION)
          fold(events)
        }),
        { numRuns: 1000 },
      )
    })

    test('C82: any JSON at all', () => {
      fc.assert(
        fc.property(fc.array(fc.jsonValue(), { maxLength: 5 }), lines => {
          const { events } = translate(lines)
          expect(events).toHaveLength(lines.length)
          for (const event of events) checkShape(event, SESSION)
        }),
      )
    })

    test('C80: every line of the corpus is known, in any order', () => {
      fc.assert(
        fc.property(fc.shuffledSubarray([...corpus]), lines => {
          for (const event of translate(lines).events) {
            checkShape(event, SESSION)
            expect(event.type).not.toBe('native:unknown')
          }
        }),
      )
    })

    test('E4: the same lines give the same events', () => {
      fc.assert(
        fc.property(fc.shuffledSubarray([...corpus]), lines => {
          expect(translate(lines)).toStrictEqual(translate(lines))
        }),
      )
    })
  },
)
