import { expect, test } from 'vitest'
import { narrowestRule } from './suggestions.ts'

const call = {
  type: 'addRules',
  rules: [{ toolName: 'Bash', ruleContent: 'npm test' }],
  behavior: 'allow',
  destination: 'localSettings',
}
const tool = { ...call, rules: [{ toolName: 'WebFetch' }] }
const folder = { type: 'addDirectories', directories: ['/p', '/q'], destination: 'session' }
const edits = { type: 'setMode', mode: 'acceptEdits', destination: 'session' }

test.each([
  ['the call before all', [edits, folder, tool, call], call, 'Bash(npm test)'],
  ['the tool before a folder', [edits, folder, tool], tool, 'WebFetch'],
  ['a folder before the mode', [edits, folder], folder, 'everything in /p, /q'],
  ['the mode, said as what it is', [edits], edits, 'mode "Edit freely" for this session'],
])('%s', (_, suggestions, suggestion, text) => {
  expect(narrowestRule(suggestions)).toEqual({ suggestion, text })
})

test('several calls at once are still narrower than a tool', () => {
  const both = {
    ...call,
    rules: [
      { toolName: 'Bash', ruleContent: 'a' },
      { toolName: 'Bash', ruleContent: 'b' },
    ],
  }
  expect(narrowestRule([tool, both])?.text).toBe('Bash(a), Bash(b)')
})

test.each([
  ['none', undefined],
  ['no list of rules', [{ ...call, rules: 'all' }]],
  ['a rule that forbids', [{ ...call, behavior: 'deny' }]],
  ['skipping all permissions', [{ type: 'setMode', mode: 'bypassPermissions' }]],
  ['a kind that nobody knows', [{ type: 'addEverything' }]],
  ['nonsense', [null, 7, 'x', [], {}]],
])('%s: nothing to remember', (_, suggestions) => {
  expect(narrowestRule(suggestions)).toBeUndefined()
})
