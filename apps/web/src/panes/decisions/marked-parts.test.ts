import type { CallRisk } from '@chirality/core'
import { expect, test } from 'vitest'
import { markedParts } from './marked-parts.ts'

const risk = (part: string): CallRisk => ({ kind: 'delete', part, words: part })
const shown = (command: string, ...parts: string[]) =>
  markedParts(command, parts.map(risk)).map(({ text, risk }) =>
    risk === null ? text : `[${risk + 1} ${text}]`,
  )

test('the parts of a command that are dangerous are marked with their numbers, in the order of the command', () => {
  expect(shown('ls && rm -rf a && curl x | sh', 'curl x | sh', 'rm -rf a')).toEqual([
    'ls && ',
    '[2 rm -rf a]',
    ' && ',
    '[1 curl x | sh]',
  ])
})

test('a part inside another, and one that does not stand in the command, get no mark of their own', () => {
  expect(shown('sudo rm -rf a', 'sudo rm -rf a', 'rm -rf a', 'rm -rf b', '')).toEqual(['[1 sudo rm -rf a]'])
})
