import type { HarnessQuery } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { ClaudeFeatures } from '../claude-code/install/features.ts'
import { type SdkOptionsInput, sdkOptions } from './variant.ts'

const options = (query: Partial<HarnessQuery> = {}, rest: Partial<SdkOptionsInput> = {}) =>
  sdkOptions({
    query: { prompt: 'x', cwd: '/p', mode: 'read-only', signal: new AbortController().signal, ...query },
    config: {},
    env: { HOME: '/h' },
    command: '/bin/claude',
    files: {},
    features: new ClaudeFeatures(),
    ...rest,
  })

test('a query without options gets the default options', () => {
  expect(options({ permissionMode: 'default' })).toEqual({
    cwd: '/p',
    env: { HOME: '/h' },
    pathToClaudeCodeExecutable: '/bin/claude',
    includePartialMessages: true,
    settingSources: ['user'],
    additionalDirectories: ['/p'],
    systemPrompt: { type: 'preset', preset: 'claude_code' },
    permissionMode: 'default',
    extraArgs: { 'replay-user-messages': null },
  })
})

test('hooks are told where the binary can tell them', () => {
  const features = new ClaudeFeatures('2.1.325', '  --include-hook-events  Include all hook events')
  expect(options({}, { features }).includeHookEvents).toBe(true)
})

test('settings are those that were named, also none', () => {
  expect(options({}, { config: { settingSources: [] } }).settingSources).toEqual([])
})

describe('the system prompt', () => {
  test("an appended system prompt is added to the agent's own", () => {
    expect(options({ appendSystemPrompt: 'more' }).systemPrompt).toMatchObject({
      preset: 'claude_code',
      append: 'more',
    })
  })

  test("a given system prompt replaces the agent's own", () => {
    expect(options({ systemPrompt: 'all' }).systemPrompt).toBe('all')
    expect(options({ systemPrompt: 'all', appendSystemPrompt: 'more' }).systemPrompt).toBe('all\n\nmore')
  })
})

test('bypassing permissions has to be asked for twice', () => {
  expect(options({ permissionMode: 'bypassPermissions' }).allowDangerouslySkipPermissions).toBe(true)
  expect(options({ permissionMode: 'plan' }).allowDangerouslySkipPermissions).toBeUndefined()
})

test.each([
  ['default', undefined],
  ['', []],
  ['Read, Grep', ['Read', 'Grep']],
])('tools %j', (tools, expected) => {
  expect(options({ tools }).tools).toEqual(expected)
})

test('servers are named by a file: their tokens must not be in the command line', () => {
  const made = options(
    { mcpServers: { x: { type: 'http', url: 'u' } } },
    { files: { mcpConfig: '/t/mcp.json' } },
  )
  expect(made.extraArgs).toMatchObject({ 'mcp-config': '/t/mcp.json', 'strict-mcp-config': null })
  expect(made.mcpServers).toBeUndefined()
})

test('everything can be copied into a Worker', () => {
  const made = options({
    thinking: 'high',
    outputSchema: { type: 'object' },
    resumeSessionId: 'r',
    maxTurns: 3,
  })
  expect(structuredClone(made)).toEqual(made)
  expect(made).toMatchObject({
    effort: 'high',
    resume: 'r',
    maxTurns: 3,
    outputFormat: { type: 'json_schema' },
  })
})
