import { expect, test } from 'vitest'
import { alwaysWords, matchesRule, ruleWords } from './rule-words.ts'

const rule = (tool: string, pattern?: string) => ({
  ...{
    effect: 'allow' as const,
    tool,
    line: 1,
    text: `allow ${tool}${pattern === undefined ? '' : `(${pattern})`}`,
  },
  ...(pattern === undefined ? {} : { pattern }),
})

test.each([
  [rule('Bash', 'npm test *'), '`npm test`, whatever follows'],
  [rule('Bash', 'npm test:*'), '`npm test`, whatever follows'],
  [rule('Bash', 'npm test'), '`npm test`'],
  // A star elsewhere is no "whatever follows": the pattern itself is shown.
  [rule('Bash', 'npm * --dry *'), '`npm * --dry *`'],
  [rule('Bash', '*'), '`*`'],
  [rule('Edit', 'src/**'), '`Edit` on `src/**`'],
  [rule('WebSearch'), 'Every use of `WebSearch`'],
  [rule('*'), 'Every call of every tool'],
])('%j', (one, words) => expect(ruleWords(one)).toBe(words))

test('a rule is found by what it says and by how it is written', () => {
  expect(matchesRule(rule('Bash', 'npm test *'), 'whatever NPM')).toBe(true)
  expect(matchesRule(rule('Bash', 'npm test *'), 'bash(npm')).toBe(true)
  expect(matchesRule(rule('Bash', 'npm test *'), 'push')).toBe(false)
  expect(matchesRule(rule('Edit'), '')).toBe(true)
})

test.each([
  ['allow Bash(npm test *)', 'every command that fits this pattern', '`npm test`, whatever follows'],
  ['allow Bash(npm test)', 'this exact command', 'this exact command'],
  // A star that stands for itself, and one in the middle: the words of the server say what the rule covers.
  ['allow Bash(ls \\*)', 'this exact command', 'this exact command'],
  ['allow Bash(npm * x *)', 'every command that fits this pattern', 'every command that fits this pattern'],
  [
    'allow Edit(src/*)',
    'this tool on every file that fits this pattern',
    'this tool on every file that fits this pattern',
  ],
])('"always" in words: %s', (rule, words, said) => expect(alwaysWords({ rule, words })).toBe(said))
