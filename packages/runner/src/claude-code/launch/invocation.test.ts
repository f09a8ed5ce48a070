import type { GuardRule } from '@chirality/core'
import { expect, test } from 'vitest'
import { ClaudeFeatures } from '../install/features.ts'
import { ownDenials } from './invocation.ts'

const agent = { harnessId: 'claude-code', name: 'Claude Code' } as const
const old = new ClaudeFeatures('2.1.300')
const deny = (tool: string, pattern?: string): GuardRule => ({
  effect: 'deny',
  tool,
  ...(pattern === undefined ? {} : { pattern }),
})

test.each<[GuardRule, string[]]>([
  [deny('Bash', 'rm *'), ['Bash(rm *)']],
  [deny('command', 'rm *'), ['Bash(rm *)']],
  [deny('bash'), ['Bash']],
  [deny('Read', '.env'), ['Read(.env)']],
  [deny('Grep', '/etc/passwd'), ['Read(//etc/passwd)']],
  [deny('Write', 'src/**'), ['Edit(src/**)']],
  [deny('WebFetch', 'example.org'), ['WebFetch']],
  [deny('mcp__shop__refund', '{"amount":5}'), ['mcp__shop__refund']],
  [deny('mcp__shop__*'), ['mcp__shop']],
  [deny('Edit', '*'), ['Edit']],
  [{ effect: 'ask', tool: 'Bash', pattern: 'git push *' }, []],
])('%j', (rule, denied) => {
  expect(ownDenials([rule], old, agent)).toEqual(denied)
})

test.each([deny('*'), deny('*', '.env'), deny('mcp__*')])(
  '%j cannot be said: version and remedy are named',
  rule => {
    expect(() => ownDenials([rule], old, agent)).toThrow(
      /^Claude Code 2\.1\.300 runs a tool when the hook that guards it fails.*Update it with `npm install/,
    )
  },
)

test('without rules there is nothing to say', () => {
  expect(ownDenials(undefined, new ClaudeFeatures(), agent)).toEqual([])
})
