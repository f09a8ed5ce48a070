import { expect, test } from 'vitest'
import { splitTools } from './split-tools.ts'

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
  expect(() => splitTools(list)).toThrow(`--allow has a bracket without its partner: ${list}`)
})
