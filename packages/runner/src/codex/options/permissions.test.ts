import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { HarnessQuery, PermissionMode } from '@chirality/core'
import { afterAll, describe, expect, test } from 'vitest'
import { codexPermissions, execPermissions, isFreeInMode, unheldByCodex } from './permissions.ts'

type Fields = Pick<HarnessQuery, 'mode' | 'permissionMode'>

const of = (mode: Fields['mode'], permissionMode?: Fields['permissionMode']): Fields => ({
  mode,
  permissionMode,
})

test.each([
  [of('read-only'), 'read-only', 'never'],
  [of('workspace-write'), 'workspace-write', 'never'],
  [of('yolo'), 'danger-full-access', 'never'],
  [of('yolo', 'dontAsk'), 'read-only', 'never'],
  [of('read-only', 'plan'), 'read-only', 'never'],
  [of('read-only', 'default'), 'workspace-write', 'on-request'],
  [of('read-only', 'acceptEdits'), 'workspace-write', 'never'],
  [of('read-only', 'bypassPermissions'), 'danger-full-access', 'never'],
])('with nobody to ask %j is the sandbox %s, approval %s', (query, sandbox, approval) => {
  expect(codexPermissions(query)).toEqual({ sandbox, approval })
  expect(execPermissions(query)).toEqual({ sandbox, approval })
})

test.each([
  [of('read-only'), 'read-only', 'never', 'read-only'],
  [of('read-only', 'dontAsk'), 'read-only', 'never', 'read-only'],
  [of('read-only', 'plan'), 'read-only', 'never', 'read-only'],
  [of('read-only', 'default'), 'workspace-write', 'untrusted', 'read-only'],
  [of('read-only', 'acceptEdits'), 'workspace-write', 'on-request', 'workspace-write'],
  [of('read-only', 'bypassPermissions'), 'danger-full-access', 'never', 'danger-full-access'],
])('with somebody to ask %j is the sandbox %s, approval %s; where exec cannot ask, %s', (...row) => {
  const [query, sandbox, approval, execSandbox] = row
  expect(codexPermissions(query, { asks: true })).toEqual({ sandbox, approval })
  expect(execPermissions(query, { asks: true })).toEqual({ sandbox: execSandbox, approval })
})

test('with rules every mode that may change something asks, and none is narrowed by them', () => {
  const of = (permissionMode: PermissionMode, asks: boolean) =>
    codexPermissions({ mode: 'read-only', permissionMode }, { asks, hasRules: true })
  for (const asks of [true, false]) {
    expect(of('bypassPermissions', asks)).toEqual({ sandbox: 'danger-full-access', approval: 'untrusted' })
    expect(of('acceptEdits', asks)).toEqual({ sandbox: 'workspace-write', approval: 'untrusted' })
    expect(of('default', asks)).toEqual({ sandbox: 'workspace-write', approval: 'untrusted' })
    expect(of('plan', asks)).toEqual({ sandbox: 'read-only', approval: 'never' })
    expect(of('dontAsk', asks)).toEqual({ sandbox: 'read-only', approval: 'never' })
  }
  expect(
    execPermissions({ mode: 'read-only', permissionMode: 'bypassPermissions' }, { hasRules: true }),
  ).toEqual({
    sandbox: 'read-only',
    approval: 'untrusted',
  })
})

test('where protected files are asked about, free edits ask about commands, too; other modes and exec stay as they are', () => {
  const of = (permissionMode: PermissionMode) => ({ mode: 'read-only', permissionMode }) as const
  const watched = { asks: true, protects: true }
  expect(codexPermissions(of('acceptEdits'), watched)).toEqual({
    sandbox: 'workspace-write',
    approval: 'untrusted',
  })
  expect(codexPermissions(of('acceptEdits'), { protects: true }).approval).toBe('never')
  for (const mode of ['plan', 'dontAsk', 'bypassPermissions', 'default'] as const)
    expect(codexPermissions(of(mode), watched)).toEqual(codexPermissions(of(mode), { asks: true }))
  expect(execPermissions(of('acceptEdits'), watched).sandbox).toBe('workspace-write')
})

test('rules about reading are told as not held, in a mode that asks nothing those about commands, too', () => {
  const rules = [
    { effect: 'deny', tool: 'Read', pattern: '.env' },
    { effect: 'deny', tool: '*', pattern: '*.pem' },
    { effect: 'ask', tool: 'Bash', pattern: 'curl *' },
    { effect: 'deny', tool: 'Write', pattern: 'a' },
    { effect: 'allow', tool: 'Read' },
  ] as const
  const about = (mode: PermissionMode) => unheldByCodex(rules, mode).map(text => /^"[^"]+"/.exec(text)?.[0])
  expect(about('default')).toEqual(['"deny Read(.env)"', '"deny *(*.pem)"'])
  for (const mode of ['plan', 'dontAsk'] as const)
    expect(about(mode)).toEqual(['"deny Read(.env)"', '"deny *(*.pem)"', '"ask Bash(curl *)"'])
  expect(unheldByCodex(rules, 'plan')[2]).toContain('"Plan only" Codex runs commands')
})

describe('requests that a mode allows without a person', () => {
  const project = mkdtempSync(path.join(tmpdir(), 'chirality-free-'))
  symlinkSync(tmpdir(), path.join(project, 'out'))
  afterAll(() => rmSync(project, { recursive: true }))
  const change = (file: string, more = {}) => ({
    toolName: 'file_change',
    input: { changes: [{ path: file, kind: { type: 'add' }, ...more }] },
  })
  const isFree = (permissionMode: PermissionMode, call: Parameters<typeof isFreeInMode>[1]) =>
    isFreeInMode({ mode: 'read-only', permissionMode, cwd: project }, call)

  test('a change of a file in the project, under acceptEdits', () => {
    expect(isFree('acceptEdits', change('new/a.txt'))).toBe(true)
    expect(isFree('acceptEdits', change(path.join(project, 'a.txt')))).toBe(true)
    expect(isFree('default', change('a.txt'))).toBe(false)
  })

  test.each(['../a.txt', '/etc/passwd', 'out/a.txt', 'new/../../a.txt'])(
    'a change of %s still needs a decision',
    file => {
      expect(isFree('acceptEdits', change(file))).toBe(false)
    },
  )

  test('not a move, a wider grant, a command or nothing', () => {
    expect(isFree('acceptEdits', change('a', { kind: { move_path: '/etc/x' } }))).toBe(false)
    const { input } = change('a')
    expect(isFree('acceptEdits', { toolName: 'file_change', input: { ...input, grantRoot: '/' } })).toBe(
      false,
    )
    expect(isFree('acceptEdits', { toolName: 'file_change', input: {} })).toBe(false)
  })

  test.each([
    ['ls -l src', true],
    ["/bin/bash -lc 'cat a.txt'", true],
    ["sed -n '1,20p' a.txt", true],
    ['catalog', false],
    ['ls > .envrc', false],
    ['ls; touch x', false],
    ['cat $(touch x)', false],
    ["sed -n '1,20p' -i a.txt", false],
    ["sed -n 'w .envrc' a.txt", false],
    ['touch x', false],
    ['git log', false],
  ])('a command that only reads, under acceptEdits: %j is %s', (command, isFreeThere) => {
    expect(isFree('acceptEdits', { toolName: 'command', input: { command } })).toBe(isFreeThere)
    expect(isFree('default', { toolName: 'command', input: { command } })).toBe(false)
    expect(isFree('acceptEdits', { toolName: 'command', input: { command, network: {} } })).toBe(false)
    expect(isFree('bypassPermissions', { toolName: 'command', input: { command: 'ls' } })).toBe(true)
  })
})
