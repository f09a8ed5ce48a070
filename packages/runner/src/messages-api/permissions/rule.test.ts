import { describe, expect, test } from 'vitest'
import { allows, denies, parseRule } from './rule.ts'

const command = (subject: string) => ({ tool: 'bash', subject, isCommand: true })
const file = (subject: string) => ({ tool: 'write', subject, isCommand: false })

test.each<[string, unknown]>([
  ['bash', { tool: 'bash' }],
  ['Bash', { tool: 'bash' }],
  [' Bash(git *) ', { tool: 'bash', argument: 'git *' }],
  ['Bash(*)', { tool: 'bash' }],
  ['LS', { tool: 'list' }],
  ['mcp__Server__Tool', { tool: 'mcp__Server__Tool' }],
  ['', undefined],
  ['bash(git', undefined],
  ['two words', undefined],
])('%j is the rule %j', (text, rule) => {
  expect(parseRule(text)).toEqual(rule)
})

describe('allowing is strict', () => {
  test.each<[string, string, boolean]>([
    ['bash(git *)', 'git status', true],
    ['bash(git *)', 'git', true],
    ['bash(git:*)', 'git log -5', true],
    ['bash(git *)', 'gitk', false],
    ['bash(git *)', 'rm git status', false],
    ['bash(git *)', 'git status; rm -rf .', false],
    ['bash(git *)', 'git status && rm x', false],
    ['bash(git *)', 'git status | sh', false],
    ['bash(git *)', 'git $(rm x)', false],
    ['bash(git *)', 'git `rm x`', false],
    ['bash(git *)', 'git > x', false],
    ['bash(git *)', 'git status\nrm x', false],
    ['bash(git *)', 'git $IFS x', false],
    ['bash(git *)', 'git log & rm x', false],
    ['bash(git *)', 'git \\\nrm', false],
    ['bash(npm run test)', 'npm run test', true],
    ['bash(npm run test)', 'npm run test:all', false],
    ['bash(npm run test*)', 'npm run test:all', true],
    ['bash(echo a | wc)', 'echo a | wc', true],
    ['bash(* --version)', 'node --version', true],
    ['bash', 'anything; at | all', true],
    ['read', 'git status', false],
  ])('%s for %j: %s', (rule, subject, expected) => {
    expect(check(allows, rule, command(subject))).toBe(expected)
  })

  test.each<[string, string, boolean]>([
    ['write(docs/**)', 'docs/a/b.md', true],
    ['write(docs/**)', 'src/a.md', false],
    ['write(./docs/*.md)', 'docs/a.md', true],
    ['write(*.md)', 'docs/a.md', false],
    ['write(docs/**)', '../docs/a.md', false],
  ])('%s for %j: %s', (rule, subject, expected) => {
    expect(check(allows, rule, file(subject))).toBe(expected)
  })

  test('a rule on an argument says nothing of a use without one', () => {
    expect(check(allows, 'bash(git *)', { tool: 'bash', isCommand: true })).toBe(false)
  })
})

describe('denying is generous', () => {
  test.each([
    '/bin/rm x',
    '"rm" x',
    'rm\tx',
    "bash -c 'rm x'",
    'ls | xargs rm',
    'env -i A=b rm x',
    'sudo -u bob rm x',
    'command rm x',
    'RM x',
  ])('bash(rm *) is found in %j, by the same matcher as in a policy', subject => {
    expect(check(denies, 'bash(rm *)', command(subject))).toBe(true)
  })

  test.each<[string, boolean]>([
    ['rm -rf x', true],
    ['rm', true],
    ['cd x && rm y', true],
    ['echo a; rm y', true],
    ['echo $(rm y)', true],
    ['echo `rm y`', true],
    ['(rm y)', true],
    ['true\nrm y', true],
    ['FOO=1 sudo rm y', true],
    ['if true; then rm y; fi', true],
    ['echo rm', false],
    ['rmdir y', false],
  ])('bash(rm *) for %j: %s', (subject, expected) => {
    expect(check(denies, 'bash(rm *)', command(subject))).toBe(expected)
  })
})

function check(fits: typeof allows, text: string, use: Parameters<typeof allows>[1]): boolean {
  const rule = parseRule(text)
  return rule !== undefined && fits(rule, use)
}
