import { expect, test } from 'vitest'
import { parsePolicyRule } from './policy-rule.ts'

test.each([
  ['allow Bash', { effect: 'allow', tool: 'Bash' }],
  ['ask *', { effect: 'ask', tool: '*' }],
  ['  deny   Bash(rm *)  ', { effect: 'deny', tool: 'Bash', pattern: 'rm *' }],
  ['deny Bash(echo (a) | sh)', { effect: 'deny', tool: 'Bash', pattern: 'echo (a) | sh' }],
  ['deny *(*.pem)', { effect: 'deny', tool: '*', pattern: '*.pem' }],
  ['allow mcp__git-hub__*', { effect: 'allow', tool: 'mcp__git-hub__*' }],
  ['deny item/tool/x', { effect: 'deny', tool: 'item/tool/x' }],
])('%j', (text, rule) => {
  expect(parsePolicyRule(text, 7)).toEqual({ rule: { ...rule, line: 7, text: text.trim() } })
})

test.each([
  ['', 'begins with allow, ask or deny'],
  ['Bash(rm *)', 'begins with allow, ask or deny'],
  ['Allow Bash', 'Did you mean "allow"?'],
  ['allow', 'allow what?'],
  ['allowBash', 'begins with allow'],
  ['allow Bash Read', 'goes on after its end: "Read"'],
  ['allow Bash(ls) Read', 'goes on after its end'],
  ['allow Bash(ls', 'goes on after its end: "(ls"'],
  ['deny Bash)rm(', 'goes on after its end'],
  ['deny Bash (rm *)', '"Bash " is not a tool'],
  ['deny (rm *)', '"" is not a tool'],
  ['deny --all', 'is not a tool'],
  ['deny **', 'is not a tool'],
  ['deny Bash()', 'empty pattern'],
  ['deny Bash( )', 'empty pattern'],
  ['deny Bash(a\nb)', 'control characters'],
  ['deny Bash(a\u0000b)', 'control characters'],
])('%j is refused', (text, problem) => {
  expect(parsePolicyRule(text, 1).problem).toContain(problem)
})

test('a rule above the length limit is refused', () => {
  expect(parsePolicyRule(`deny Bash(${'x'.repeat(5000)})`, 1).problem).toContain('at most 4096')
})
