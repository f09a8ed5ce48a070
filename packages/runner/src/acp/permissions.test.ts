import type { PermissionMode, PermissionRequestEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { ruleOf } from './permissions.ts'

const tool: PermissionRequestEvent = {
  type: 'permission:request',
  sessionId: 's',
  requestId: 'r',
  kind: 'tool',
  toolName: 'Bash',
  input: { command: 'ls' },
  raw: {},
}
const form: PermissionRequestEvent = { ...tool, kind: 'question', toolName: 'elicitation' }

test.each<[string, PermissionMode, PermissionRequestEvent, string | undefined]>([
  ['a form goes to a person', 'plan', form, undefined],
  ['a call is denied', 'plan', tool, 'deny'],
  ['nobody is asked', 'dontAsk', form, 'deny'],
])('%s in the mode %s', async (_what, permissionMode, request, behavior) => {
  const signal = new AbortController().signal
  const query = { prompt: 'Hi', cwd: '/p', mode: 'workspace-write' as const, signal, permissionMode }
  const ruled = await ruleOf(request, new Set(), { query, ownServer: 'own' })
  expect(ruled?.decision.behavior).toBe(behavior)
})

test.each<[PermissionMode, string | undefined]>([
  ['dontAsk', 'deny'],
  ['plan', 'deny'],
  ['default', undefined],
  ['acceptEdits', undefined],
  ['bypassPermissions', undefined],
])(
  'what a guard asks about, also if it was allowed before, in the mode %s',
  async (permissionMode, behavior) => {
    const signal = new AbortController().signal
    const query = { prompt: 'Hi', cwd: '/p', mode: 'workspace-write' as const, signal, permissionMode }
    const guard = {
      hasRules: true,
      judge: async () => ({ effect: 'ask' as const, reason: 'It runs later.' }),
    }
    const allowed = new Set([JSON.stringify([tool.toolName, tool.input])])
    const ruled = await ruleOf(tool, allowed, { guard, query, ownServer: 'own' })
    expect(ruled?.decision.behavior).toBe(behavior)
  },
)
