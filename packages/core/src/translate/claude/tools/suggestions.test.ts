import { expect, test } from 'vitest'
import { narrowestSuggestion } from './suggestions.ts'

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
  ['the call before all', [edits, folder, tool, call], call, ['Bash(npm test)']],
  ['the tool before a folder', [edits, folder, tool], tool, ['WebFetch']],
  ['a folder before the mode', [edits, folder], folder, []],
  ['the mode where there is nothing else', [edits], edits, []],
])('%s', (_, suggestions, suggestion, rules) => {
  expect(narrowestSuggestion(suggestions)).toEqual({ suggestion, rules })
})

test('several calls at once are still narrower than a tool', () => {
  const both = {
    ...call,
    rules: [
      { toolName: 'Bash', ruleContent: 'a' },
      { toolName: 'Bash', ruleContent: 'b' },
    ],
  }
  expect(narrowestSuggestion([tool, both])?.rules).toEqual(['Bash(a)', 'Bash(b)'])
})

test.each([
  ['none', undefined],
  ['no list of rules', [{ ...call, rules: 'all' }]],
  ['a rule that forbids', [{ ...call, behavior: 'deny' }]],
  ['skipping all permissions', [{ type: 'setMode', mode: 'bypassPermissions' }]],
  ['a kind that nobody knows', [{ type: 'addEverything' }]],
  ['nonsense', [null, 7, 'x', [], {}]],
])('%s: nothing to remember', (_, suggestions) => {
  expect(narrowestSuggestion(suggestions)).toBeUndefined()
})
