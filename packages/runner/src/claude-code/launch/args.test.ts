import { readFileSync } from 'node:fs'
import { HarnessError, type HarnessQuery } from '@chirality/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CLAUDE_CODE } from '../config.ts'
import { ClaudeFeatures } from '../install/features.ts'
import { buildClaudeArgs, buildClaudeEnv, type ClaudeArgInput, checkChoices } from './args.ts'

const QUERY: HarnessQuery = {
  prompt: 'Hi',
  cwd: '/p',
  mode: 'read-only',
  signal: new AbortController().signal,
}

const help = (version: string) =>
  readFileSync(new URL(`../../../test/claude-code/help/${version}.txt`, import.meta.url), 'utf8')
const release = (version: string) => new ClaudeFeatures(version, help(version))
const PINNED = release('2.1.325')

function args(query: Partial<HarnessQuery> = {}, input: Partial<ClaudeArgInput> = {}): string[] {
  return buildClaudeArgs({
    query: { ...QUERY, ...query },
    config: {},
    files: {},
    inputFormat: 'text',
    features: PINNED,
    ...input,
  })
}

/** The arguments after a flag, up to the next flag. */
function after(flag: string, all: string[]): string[] | undefined {
  const start = all.indexOf(flag)
  if (start === -1) return undefined
  const rest = all.slice(start + 1)
  const end = rest.findIndex(word => word.startsWith('--'))
  return end === -1 ? rest : rest.slice(0, end)
}

test('a query without options gets the default command line', () => {
  expect(args()).toEqual([
    '-p',
    '--output-format',
    'stream-json',
    '--verbose',
    '--include-partial-messages',
    '--include-hook-events',
    '--setting-sources',
    'user',
    '--permission-mode',
    'plan',
    '--add-dir',
    '/p',
  ])
})

test('hooks are told where the binary can tell them', () => {
  expect(args({}, { features: release('2.1.197') })).toContain('--include-hook-events')
  expect(args({}, { features: release('2.1.9') })).not.toContain('--include-hook-events')
  expect(args({}, { features: new ClaudeFeatures() })).not.toContain('--include-hook-events')
})

test.each<{ query: Partial<HarnessQuery>; flag: string; words: string[] | undefined }>([
  { query: { model: 'opus' }, flag: '--model', words: ['opus'] },
  { query: { fallbackModel: 'sonnet' }, flag: '--fallback-model', words: ['sonnet'] },
  { query: { thinking: 'low' }, flag: '--effort', words: ['low'] },
  { query: { thinking: 'med' }, flag: '--effort', words: ['medium'] },
  { query: { thinking: 'high' }, flag: '--effort', words: ['high'] },
  { query: { thinking: 'low' }, flag: '--max-thinking-tokens', words: ['3000'] },
  { query: { thinking: 'med' }, flag: '--max-thinking-tokens', words: ['5000'] },
  { query: { thinking: 'high' }, flag: '--max-thinking-tokens', words: ['10000'] },
  { query: { thinking: 'xhigh' }, flag: '--effort', words: ['xhigh'] },
  { query: { thinking: 'max' }, flag: '--effort', words: ['max'] },
  { query: { thinking: 'ultracode' }, flag: '--effort', words: ['ultracode'] },
  { query: { permissionMode: 'auto' }, flag: '--permission-mode', words: ['auto'] },
  { query: { resumeSessionId: 'abc' }, flag: '--resume', words: ['abc'] },
  { query: { resumeSessionId: 'abc', forkSession: true }, flag: '--fork-session', words: [] },
  { query: { continueLast: true }, flag: '--continue', words: [] },
  { query: { resumeSessionId: 'abc', continueLast: true }, flag: '--continue', words: undefined },
  { query: { mode: 'read-only' }, flag: '--permission-mode', words: ['plan'] },
  { query: { mode: 'workspace-write' }, flag: '--permission-mode', words: ['acceptEdits'] },
  { query: { mode: 'yolo' }, flag: '--dangerously-skip-permissions', words: [] },
  { query: { mode: 'yolo' }, flag: '--permission-mode', words: undefined },
  { query: { mode: 'yolo', permissionMode: 'dontAsk' }, flag: '--permission-mode', words: ['dontAsk'] },
  { query: { tools: 'Read,Bash' }, flag: '--tools', words: ['Read,Bash'] },
  { query: { tools: '' }, flag: '--tools', words: [''] },
  { query: { allowedTools: ['Read', 'Bash'] }, flag: '--allowedTools', words: ['Read', 'Bash'] },
  { query: { disallowedTools: ['Write'] }, flag: '--disallowedTools', words: ['Write'] },
  { query: { allowedTools: [], disallowedTools: [] }, flag: '--allowedTools', words: undefined },
  { query: { maxTurns: 3 }, flag: '--max-turns', words: ['3'] },
  { query: { maxBudgetUsd: 0.5 }, flag: '--max-budget-usd', words: ['0.5'] },
  { query: { outputSchema: { type: 'object' } }, flag: '--json-schema', words: ['{"type":"object"}'] },
  { query: { includePartialMessages: false }, flag: '--include-partial-messages', words: undefined },
])('$query gives $flag $words', ({ query, flag, words }) => {
  expect(after(flag, args(query))).toEqual(words)
})

test.each<{ query: Partial<HarnessQuery>; version: string; known: boolean }>([
  { query: { thinking: 'max' }, version: '2.1.325', known: true },
  { query: { thinking: 'xhigh' }, version: '2.1.9', known: false },
  { query: { thinking: 'ultracode' }, version: '2.1.197', known: false },
  { query: { thinking: 'ultracode' }, version: '2.1.325', known: true },
  { query: { thinking: 'high' }, version: '2.1.9', known: true },
  { query: { permissionMode: 'auto' }, version: '2.1.197', known: true },
])('$query is for $version: $known', ({ query, version, known }) => {
  const check = () => checkChoices({ ...QUERY, ...query }, release(version), CLAUDE_CODE)
  if (known) expect(check).not.toThrow()
  else expect(check).toThrow(expect.objectContaining({ code: 'unsupported' }))
})

test('a value that the help of a flag does not list is refused with the version and the update', () => {
  const listed = (choices: string) =>
    new ClaudeFeatures(
      '2.1.90',
      `  --permission-mode <mode>   Mode to use\n      (choices: ${choices})\n  --next   (auto)\n`,
    )
  const check = (features: ClaudeFeatures) => () =>
    checkChoices({ ...QUERY, permissionMode: 'auto' }, features, CLAUDE_CODE)
  expect(check(listed('"acceptEdits", "plan"'))).toThrow(
    /^Claude Code 2\.1\.90 has no permission mode auto\. Update it with `npm install/,
  )
  expect(check(listed('"acceptEdits",\n      "auto"'))).not.toThrow()
})

test('each extra folder has a flag of its own', () => {
  expect(args({ additionalDirectories: ['/a', '/b'] }).slice(-4)).toEqual([
    '--add-dir',
    '/a',
    '--add-dir',
    '/b',
  ])
})

test('files are named, never their content', () => {
  const files = { systemPrompt: '/t/s', appendSystemPrompt: '/t/a', mcpConfig: '/t/m' }
  const query = { systemPrompt: 'secret', appendSystemPrompt: 'secret' }
  const all = args(query, { files })
  expect(after('--system-prompt-file', all)).toEqual(['/t/s'])
  expect(after('--append-system-prompt-file', all)).toEqual(['/t/a'])
  expect(after('--mcp-config', all)).toEqual(['/t/m'])
  expect(all).toContain('--strict-mcp-config')
  expect(args({ ...query, keepOwnMcpServers: true }, { files })).not.toContain('--strict-mcp-config')
  expect(all.join(' ')).not.toContain('secret')
})

test.each([
  ['2.0.44', undefined],
  ['2.1.86', undefined],
  ['2.1.197', undefined],
  ['2.1.268', ['off']],
  ['2.1.325', ['off']],
])('the prompt snapshot of %s is switched off where a prompt changes on resume: %j', (version, off) => {
  const files = { appendSystemPrompt: '/t/a' }
  const features = release(version)
  const snapshot = (query: Partial<HarnessQuery>, input: Partial<ClaudeArgInput>) =>
    after('--system-prompt-snapshot', args(query, { features, ...input }))
  expect(snapshot({ resumeSessionId: 'x' }, { files })).toEqual(off)
  expect(snapshot({ continueLast: true }, { files })).toEqual(off)
  expect(snapshot({ resumeSessionId: 'x' }, {})).toBeUndefined()
  expect(snapshot({}, { files })).toBeUndefined()
})

describe('only what changes something is said', () => {
  test('all tools is what an agent has anyway', () => {
    expect(args({ tools: 'default' })).not.toContain('--tools')
    expect(after('--tools', args({ tools: '' }))).toEqual([''])
  })

  test('a release without --effort gets the number of tokens', () => {
    const all = args({ thinking: 'high' }, { features: release('2.1.9') })
    expect(all).not.toContain('--effort')
    expect(after('--max-thinking-tokens', all)).toEqual(['10000'])
  })

  test('a flag that the release does not know, and the turn needs, is refused with version and remedy', () => {
    const features = new ClaudeFeatures(
      '2.0.29',
      'Options:\n  --verbose\n  --output-format <f>\n  -p, --print\n',
    )
    const query = { includePartialMessages: false }
    expect(() => args(query, { features, agent: { harnessId: 'agent-sdk', name: 'SDK' } })).toThrow(
      expect.objectContaining({
        code: 'unsupported',
        harnessId: 'agent-sdk',
        message: expect.stringMatching(
          /^Claude Code 2\.0\.29 does not know --setting-sources, .* Update it with `npm install/,
        ),
      }),
    )
  })

  test('a binary that shows no help is tried', () => {
    const features = new ClaudeFeatures()
    expect(args({ thinking: 'low', tools: 'Read', maxBudgetUsd: 1 }, { features })).toContain('--effort')
  })
})

test('settings of the folder count when it is trusted, or the program says so', () => {
  const trusted = args({ trustProject: true })
  expect(after('--setting-sources', trusted)).toEqual(['user,project,local'])
  expect(trusted).not.toContain('--add-dir')
  const named = args({}, { config: { settingSources: ['project'] } })
  expect(after('--setting-sources', named)).toEqual(['project'])
  expect(named).not.toContain('--add-dir')
})

test('no setting sources is an empty list, not a missing flag', () => {
  expect(after('--setting-sources', args({}, { config: { settingSources: [] } }))).toEqual([''])
})

test('images need the stream input; extra arguments come last', () => {
  const all = args({}, { inputFormat: 'stream-json', extraArgs: ['--bare'] })
  expect(after('--input-format', all)).toEqual(['stream-json'])
  expect(all.at(-1)).toBe('--bare')
})

test('a new id goes with a new conversation or a fork', () => {
  const newSessionId = '0af3e1c2-0000-4000-8000-00000000ABCD'
  expect(after('--session-id', args({ newSessionId }))).toEqual([newSessionId])
  expect(after('--session-id', args({ newSessionId, resumeSessionId: 'x', forkSession: true }))).toEqual([
    newSessionId,
  ])
  expect(() => args({ newSessionId, resumeSessionId: 'x' })).toThrow(HarnessError)
})

test('no value of a query can become a flag', () => {
  fc.assert(
    fc.property(fc.string(), value => {
      const flag = `-${value}`
      for (const query of [
        { model: flag },
        { fallbackModel: flag },
        { resumeSessionId: flag },
        { tools: flag },
        { allowedTools: ['Read', flag] },
        { disallowedTools: [flag] },
        { additionalDirectories: [flag] },
        { newSessionId: flag },
      ])
        expect(() => args(query)).toThrow(HarnessError)
    }),
  )
})

describe('environment', () => {
  test('telemetry is off unless wanted', () => {
    expect(buildClaudeEnv(QUERY, {})).toEqual({ DISABLE_TELEMETRY: '1', DISABLE_ERROR_REPORTING: '1' })
    expect(buildClaudeEnv(QUERY, { disableTelemetry: false })).toEqual({})
  })

  test("the query's variables override the others", () => {
    const query = { ...QUERY, env: { DISABLE_TELEMETRY: '0', MORE: 'x' } }
    expect(buildClaudeEnv(query, {})).toMatchObject({ DISABLE_TELEMETRY: '0', MORE: 'x' })
  })

  const ALL = [
    'ANTHROPIC_DEFAULT_HAIKU_MODEL',
    'ANTHROPIC_DEFAULT_OPUS_MODEL',
    'ANTHROPIC_DEFAULT_SONNET_MODEL',
    'CLAUDE_CODE_SUBAGENT_MODEL',
  ]
  test.each([
    { model: 'claude-opus-5-5', names: ALL },
    { model: 'claude-opus-4-8[1m]', names: ALL },
    { model: 'us.anthropic.claude-sonnet-4-5-v1:0', names: ALL },
    { model: 'claude-opus-5-5', fallbackModel: 'claude-sonnet-5-5', names: ALL },
    { model: 'claude-opus-5-5', fallbackModel: 'sonnet', names: ['CLAUDE_CODE_SUBAGENT_MODEL'] },
    { model: 'opus', names: ['CLAUDE_CODE_SUBAGENT_MODEL'] },
    { model: 'sonnet[1m]', names: ['CLAUDE_CODE_SUBAGENT_MODEL'] },
    { model: 'opusplan', names: ['CLAUDE_CODE_SUBAGENT_MODEL'] },
    { model: 'default', names: [] },
    { model: undefined, names: [] },
  ])('model $model with fallback $fallbackModel sets $names', ({ names, ...models }) => {
    const env = buildClaudeEnv({ ...QUERY, ...models }, { disableTelemetry: false })
    expect(Object.keys(env).sort()).toEqual(names)
    expect(Object.values(env).every(value => value === models.model)).toBe(true)
    expect(
      buildClaudeEnv({ ...QUERY, ...models }, { disableTelemetry: false, forceSubagentModel: false }),
    ).toEqual({})
  })
})
