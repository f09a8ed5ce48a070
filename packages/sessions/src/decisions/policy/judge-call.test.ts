import type { PermissionRequestEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { permissionRequest } from '../../../test/decisions/permission-request.ts'
import { judgeCall } from './judge-call.ts'
import { type PolicySource, parsePolicy } from './policy-source.ts'
import { describeCall } from './tool-call.ts'

const own = (...lines: string[]): PolicySource =>
  source({ kind: 'user-project', file: 'own', trusted: true }, lines)
const global = (...lines: string[]): PolicySource =>
  source({ kind: 'user-global', file: 'global', trusted: true }, lines)
const project = (...lines: string[]): PolicySource =>
  source({ kind: 'project', file: 'theirs', trusted: false }, lines)

function source(base: Pick<PolicySource, 'kind' | 'file' | 'trusted'>, lines: string[]): PolicySource {
  return { ...base, exists: true, ...parsePolicy(lines.join('\n')) }
}

function judge(sources: PolicySource[], request: Partial<PermissionRequestEvent> = {}) {
  const full = permissionRequest({ input: { command: 'git status' }, ...request })
  return judgeCall(sources, full, describeCall(full, { projectRoot: '/no/such/project' }))
}

describe('the first match wins', () => {
  test('in a file', () => {
    const rules = ['# mine', '', 'deny Bash(git push *)', 'allow Bash(git *)', 'deny Bash']
    expect(judge([own(...rules)])).toEqual({ effect: 'allow', rule: 'own:4 allow Bash(git *)' })
    expect(judge([own(...rules)], { input: { command: 'git push' } }).effect).toBe('deny')
    expect(judge([own(...rules)], { input: { command: 'ls' } }).effect).toBe('deny')
  })

  test('among the files of the user', () => {
    expect(judge([own('ask Bash'), global('allow Bash')]).effect).toBe('ask')
    expect(judge([own('allow Bash'), global('deny Bash')]).effect).toBe('allow')
    expect(judge([own('allow Read'), global('allow Bash')]).rule).toBe('global:1 allow Bash')
  })

  test('without any it is a question for a person', () => {
    expect(judge([])).toEqual({ effect: 'ask' })
    expect(judge([own('allow Read')])).toEqual({ effect: 'ask' })
  })
})

describe('a project', () => {
  test.each([
    ['allow Bash', 'deny Bash', 'deny'],
    ['allow Bash', 'ask Bash', 'ask'],
    ['deny Bash', 'ask Bash', 'deny'],
    ['ask Bash', 'deny Bash', 'deny'],
    ['deny Bash', 'allow Bash', 'deny'],
    ['ask Bash', 'allow Bash', 'ask'],
    ['allow Bash', 'allow Bash', 'allow'],
    ['# nothing', 'allow Bash', 'ask'],
    ['# nothing', 'allow *', 'ask'],
    ['# nothing', 'deny *', 'deny'],
  ])('only takes away: with %j of the user, %j makes it %s', (mine, theirs, effect) => {
    expect(judge([own(mine), project(theirs)]).effect).toBe(effect)
  })

  test('has no allow that could hide a deny of its own', () => {
    expect(judge([project('allow Bash', 'deny Bash')]).rule).toBe('theirs:2 deny Bash')
  })
})

describe('a file with an error', () => {
  test('everything asks, and it is said where the error is', () => {
    expect(judge([own('allow Bash', 'alow Read')])).toEqual({
      effect: 'ask',
      problem: expect.stringMatching(/^own:2: .*Did you mean "allow"/),
    })
    expect(judge([own('deny Bash', 'oops')]).effect).toBe('ask')
    expect(judge([own('allow Bash'), global('oops')]).effect).toBe('ask')
    expect(judge([own('allow Bash'), project('oops')]).effect).toBe('ask')
  })

  test('does not open what another file denies', () => {
    expect(judge([own('deny Bash'), project('oops')]).effect).toBe('deny')
    expect(judge([own('oops'), project('deny Bash')]).effect).toBe('deny')
  })
})

test.each(['question', 'plan', 'unknown'] as const)('no rule says yes to a request of the kind %s', kind => {
  expect(judge([own('allow *')], { kind })).toEqual({ effect: 'ask' })
  expect(judge([own('deny *')], { kind }).effect).toBe('deny')
})

describe('tools', () => {
  test.each<[string, string, Record<string, unknown>, string]>([
    ['deny Bash(rm *)', 'command', { command: "/bin/bash -lc 'rm x'" }, 'deny'],
    ['deny bash(rm *)', 'Bash', { command: 'rm x' }, 'deny'],
    ['deny Bash(rm *)', 'bash', { command: 'rm x' }, 'deny'],
    ['allow Bash(ls *)', 'bash', { command: 'ls -l' }, 'allow'],
    ['allow Bash(ls *)', 'command', { command: "/bin/bash -lc 'ls -l'", cwd: '/no/such/project' }, 'allow'],
    ['allow Bash(ls *)', 'command', { command: "/bin/bash -lc 'ls -l'", cwd: '/no/such' }, 'ask'],
    ['allow Bash(ls *)', 'command', { command: "/bin/bash -lc 'ls -l'", network: { host: 'x' } }, 'ask'],
    ['allow Bash(ls *)', 'Bash', { command: 'ls -l', dangerouslyDisableSandbox: true }, 'ask'],
    ['allow Bash', 'Bash', { command: 'ls; rm x' }, 'allow'],
    ['allow bash', 'Bash', { command: 'ls' }, 'ask'],
    ['allow Bash(*)', 'Bash', { command: 3 }, 'ask'],
    ['deny Bash(*)', 'Bash', { command: ['rm'] }, 'deny'],
    ['deny *(.env)', 'Bash', { command: 'cat ./.env' }, 'deny'],
    ['deny Bash(.env)', 'Bash', { command: 'cat ./.env' }, 'ask'],
    ['allow *(ls)', 'Bash', { command: 'ls' }, 'allow'],
    ['allow Bas*', 'Bash', { command: 'ls' }, 'allow'],
    ['allow Write(src/**)', 'Write', { file_path: '/no/such/project/src/a' }, 'allow'],
    ['allow Write(src/**)', 'write', { path: 'src/a' }, 'allow'],
    ['allow Write(src/**)', 'write', { path: 'src/../../x' }, 'ask'],
    ['allow Write(src/**)', 'write', { path: '~/src/a' }, 'ask'],
    ['allow Write(src/**)', 'write', { path: 'src/a\u0000b' }, 'ask'],
    ['allow Write(src/**)', 'write', { path: 'src/.g\u200cit/config' }, 'ask'],
    ['allow Write(src/**)', 'Write', {}, 'ask'],
    ['deny Write(/etc/**)', 'Write', { file_path: '/no/../etc/passwd' }, 'deny'],
    ['deny Edit(/etc/**)', 'MultiEdit', { file_path: '/etc/passwd' }, 'deny'],
    ['deny Edit(/etc/**)', 'NotebookEdit', { notebook_path: '/etc/passwd' }, 'deny'],
    ['deny Write(/etc/**)', 'file_change', changes('a', '/etc/passwd'), 'deny'],
    ['allow file_change(src/**)', 'file_change', changes('src/a', 'src/b'), 'allow'],
    ['allow file_change(src/**)', 'file_change', changes('src/a', 'lib/b'), 'ask'],
    [
      'allow file_change(src/**)',
      'file_change',
      { changes: [{ path: 'src/a', kind: { move_path: '/etc/x' } }] },
      'ask',
    ],
    [
      'allow file_change(src/**)',
      'file_change',
      { changes: [{ path: 'src/a', kind: 'update', movePath: '/etc/x' }] },
      'ask',
    ],
    ['allow file_change(src/**)', 'file_change', { changes: [{ path: 'src/a' }, {}] }, 'ask'],
    ['allow file_change(src/**)', 'file_change', { changes: [] }, 'ask'],
    ['allow file_change(src/**)', 'file_change', { ...changes('src/a'), grantRoot: '/' }, 'ask'],
    ['allow Write(src/**)', 'file_change', changes('src/a'), 'ask'],
    ['allow Read(**)', 'Read', { file_path: '/no/such/project/.git/config' }, 'allow'],
    ['allow Glob(**)', 'Glob', { pattern: '**/*.ts' }, 'allow'],
    ['allow Glob(**)', 'Glob', { pattern: '/etc/*' }, 'ask'],
    ['allow Glob(**)', 'Glob', { pattern: '../../*' }, 'ask'],
    ['allow Grep(**)', 'Grep', { pattern: 'x' }, 'allow'],
    ['deny LS(/etc)', 'list', { path: '/etc' }, 'deny'],
    ['allow WebFetch(example.org)', 'WebFetch', { url: 'https://example.org/a', prompt: 'x' }, 'allow'],
    ['deny WebSearch(password)', 'web_search', { query: 'my Password is' }, 'deny'],
    ['allow mcp__db__*', 'mcp__db__read', { q: 1 }, 'allow'],
    ['allow mcp__db__*(*SELECT*)', 'mcp__db__query', { q: 'SELECT 1; DROP TABLE x' }, 'ask'],
    ['allow mcp__db__query({"q":"SELECT 1"})', 'mcp__db__query', { q: 'SELECT 1' }, 'allow'],
    ['deny mcp__db__*(drop table)', 'mcp__db__query', { q: 'SELECT 1; DROP TABLE x' }, 'deny'],
    ['deny MCP__DB__*', 'mcp__db__query', {}, 'deny'],
    ['allow Read', 'ReadAll', {}, 'ask'],
  ])('%j and %s %j: %s', (rule, toolName, input, effect) => {
    expect(judge([own(rule)], { toolName, input }).effect).toBe(effect)
  })
})

test('a path that no system opens is denied and not allowed', () => {
  const long = { toolName: 'write', input: { path: `src/${'a/'.repeat(100_000)}b` } }
  expect(judge([own('allow Write(src/**)')], long).effect).toBe('ask')
  expect(judge([own('deny Write(b)')], long).effect).toBe('deny')
})

function changes(...paths: string[]): Record<string, unknown> {
  return { changes: paths.map(path => ({ path, kind: 'update' })) }
}
