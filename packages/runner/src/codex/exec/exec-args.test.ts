import type { HarnessQuery } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { buildExecArgs, type ExecArgInput, toToml } from './exec-args.ts'

const ID = '01a1e299-f6ed-7c52-bac1-135cf1f26a6e'

function build(fields: Partial<HarnessQuery> = {}, input: Partial<ExecArgInput> = {}): string[] {
  const query: HarnessQuery = {
    prompt: 'SECRET PROMPT',
    cwd: '/p/it',
    mode: 'read-only',
    signal: new AbortController().signal,
    ...fields,
  }
  return buildExecArgs({
    query,
    sandbox: 'read-only',
    overrides: ['-c', 'first=1'],
    mcpServers: {},
    hidden: [],
    images: [],
    ...input,
  })
}

const overridesOf = (args: string[]) => args.filter((_arg, index) => args[index - 1] === '-c')
const afterExec = (args: string[]) => args.slice(args.indexOf('exec'))

describe('the command line of codex exec', () => {
  test('a plain query: the prompt goes through stdin', () => {
    const args = build()
    expect(afterExec(args)).toEqual([
      ...['exec', '-s', 'read-only', '-C', '/p/it', '--skip-git-repo-check', '--json', '-'],
    ])
    expect(args.join(' ')).not.toContain('SECRET PROMPT')
  })

  test('the folder is known as untrusted for this run, so that Codex writes nothing about it', () => {
    expect(overridesOf(build({ cwd: '/a "b"' }))).toContain(
      'projects={ "/a \\"b\\"" = { trust_level = "untrusted" } }',
    )
  })

  test('later overrides are those of the query', () => {
    const args = build({ thinking: 'high' }, { systemPromptFile: '/a "b"/prompt.md' })
    expect(overridesOf(args)[0]).toBe('first=1')
    expect(overridesOf(args)).toEqual(
      expect.arrayContaining([
        'model_reasoning_effort="xhigh"',
        'model_instructions_file="/a \\"b\\"/prompt.md"',
      ]),
    )
  })

  test('does not contain the instructions', () => {
    const args = build({ systemPrompt: 'SECRET SYSTEM', appendSystemPrompt: 'SECRET PERSONA' })
    expect(args.join(' ')).not.toContain('SECRET')
  })

  test('resume and fork come behind the flags that only exec takes', () => {
    const resumed = afterExec(build({ resumeSessionId: ID, model: 'm', additionalDirectories: ['/x', '/y'] }))
    expect(resumed).toEqual([
      ...['exec', '-s', 'read-only', '-C', '/p/it', '--skip-git-repo-check'],
      ...['--add-dir', '/x', '--add-dir', '/y', 'resume', '--json', '-m', 'm', ID, '-'],
    ])
    expect(afterExec(build({ resumeSessionId: ID, forkSession: true }))).toContain('fork')
  })

  test('an image cannot swallow what follows', () => {
    const args = build({}, { images: ['/a.png', '/b.png'], outputSchemaFile: '/s.json' })
    expect(args.slice(-5)).toEqual(['--output-schema', '/s.json', '--image=/a.png', '--image=/b.png', '-'])
  })

  test('MCP servers, and the variables that commands must not see', () => {
    const mcpServers = { one: { url: 'http://a', env_http_headers: { 'X-A': 'V' } } }
    expect(overridesOf(build({}, { mcpServers, hidden: ['V'] }))).toEqual(
      expect.arrayContaining([
        'shell_environment_policy.exclude=["V"]',
        'mcp_servers.one.url="http://a"',
        'mcp_servers.one.env_http_headers={ "X-A" = "V" }',
      ]),
    )
  })

  test.each([{ model: '-m' }, { additionalDirectories: ['--yolo'] }, { model: 'a\0b' }])(
    '%j is refused',
    fields => {
      expect(() => build(fields)).toThrow(expect.objectContaining({ code: 'invalid_query' }))
    },
  )
})

describe('TOML for an override', () => {
  test.each([
    ['plain', '"plain"'],
    ['say "hi"\n\\ \t', '"say \\"hi\\"\\n\\\\ \\t"'],
    ['\u007f\u0000', '"\\u007f\\u0000"'],
    ['é 😀', '"é 😀"'],
    [12, '12'],
    [1.5, '1.5'],
    [true, 'true'],
    [[1, 'two', [true]], '[1, "two", [true]]'],
    [{ 'a.b': { c: 1 }, gone: undefined, none: null }, '{ "a.b" = { "c" = 1 } }'],
  ])('%j', (value, toml) => {
    expect(toToml(value)).toBe(toml)
  })

  test.each([undefined, null, Symbol('x')])('%s cannot be written as TOML', value => {
    expect(() => toToml(value)).toThrow(TypeError)
  })
})
