import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { readPrompt, splitTools } from './request.ts'

const terminal = Object.assign(Readable.from([]), { isTTY: true as const })

test('in a terminal no prompt is asked for: it would look like a hang', async () => {
  await expect(readPrompt([], terminal)).rejects.toThrow(
    'No prompt. Give one in quotes, or "-" to read it from stdin.',
  )
})

test('a character that is split between two chunks stays whole', async () => {
  const bytes = Buffer.from('ä€😀')
  const stdin = Object.assign(Readable.from([...bytes].map(byte => Buffer.from([byte]))), {
    isTTY: false as const,
  })
  expect(await readPrompt(['-'], stdin)).toBe('ä€😀')
})

test.each([
  ['', []],
  [' , ,', []],
  ['Read', ['Read']],
  [' Read , Edit ', ['Read', 'Edit']],
  ['Bash(git log, git diff),Read', ['Bash(git log, git diff)', 'Read']],
  ['Bash(f(a, b), c),Read', ['Bash(f(a, b), c)', 'Read']],
])('%j', (list, names) => {
  expect(splitTools(list)).toEqual(names)
})

test.each(['Bash(git', 'Bash)', 'a),(b'])('%j is refused', list => {
  expect(() => splitTools(list)).toThrow(`--allow has an unbalanced bracket: ${list}`)
})
