import { expect, test } from 'vitest'
import { didYouMean } from './did-you-mean.ts'

const KEYS = ['tools', 'disallowed_tools', 'max_turns', 'model']

test.each([
  ['tool', ' Did you mean "tools"?'],
  ['Tools', ' Did you mean "tools"?'],
  ['maxTurns', ' Did you mean "max_turns"?'],
  ['max-turn', ' Did you mean "max_turns"?'],
  ['disallowedTools', ' Did you mean "disallowed_tools"?'],
  ['disalowed_tols', ' Did you mean "disallowed_tools"?'],
  ['modal', ' Did you mean "model"?'],
  ['color', ''],
  ['', ''],
  ['x'.repeat(100_000), ''],
])('%.20s', (written, hint) => {
  expect(didYouMean(written, KEYS)).toBe(hint)
})
