import { describe, expect, test } from 'vitest'
import { isPattern, splitToolList, toolName, toolProblem } from './tool-list.ts'

test.each([
  ['Read,Grep,Glob,Bash', ['Read', 'Grep', 'Glob', 'Bash']],
  [' Read ,\n Grep , ', ['Read', 'Grep']],
  ['Bash(git log, git diff), Read', ['Bash(git log, git diff)', 'Read']],
  ['Bash(echo (a, b), c),Edit', ['Bash(echo (a, b), c)', 'Edit']],
  ['a), b', ['a)', 'b']],
  ['', []],
  [' , ,', []],
])('%j splits into %j', (text, tools) => {
  expect(splitToolList(text)).toEqual(tools)
})

describe('a tool', () => {
  test.each([
    'Read',
    'Bash(git *)',
    'Bash(npm run test:*)',
    'Edit(/src/**)',
    'WebFetch(domain:example.org)',
    'mcp__git-hub__create_issue',
    'mcp__files__*',
    'MyOwnTool',
  ])('may be %s', tool => {
    expect(toolProblem(tool)).toBeUndefined()
  })

  test.each([
    ['Write Edit', 'Separate tools by commas'],
    ['--dangerously-skip-permissions', 'is not a tool'],
    ['-x', 'is not a tool'],
    ['Bash(git', 'unequal parentheses'],
    ['Bash)git(', 'unequal parentheses'],
    ['Bash(git *) Read', 'is not a tool'],
    ['Bash(a\u0000b)', 'is not a tool'],
    ['Bash(a\nb)', 'is not a tool'],
    ['*', 'every tool'],
    ['*(x)', 'every tool'],
    ['write', 'is written "Write"'],
    ['BASH(rm *)', '"BASH" is written "Bash"'],
    ['$(rm -rf /)', 'is not a tool'],
  ])('may not be %j', (tool, problem) => {
    expect(toolProblem(tool)).toContain(problem)
  })

  test('is shown in part when it is long', () => {
    expect(toolProblem(`-${'x'.repeat(10_000)}`)?.length).toBeLessThan(200)
  })

  test('has a name, and perhaps a pattern', () => {
    expect([toolName('Bash(git *)'), isPattern('Bash(git *)')]).toEqual(['Bash', true])
    expect([toolName('Read'), isPattern('Read')]).toEqual(['Read', false])
  })
})
