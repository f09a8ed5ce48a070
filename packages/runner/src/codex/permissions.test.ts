import type { HarnessQuery } from '@chirality/core'
import { expect, test } from 'vitest'
import { codexPermissions, execPermissions } from './permissions.ts'

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
