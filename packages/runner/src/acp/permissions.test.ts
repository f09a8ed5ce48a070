import type { PermissionMode, PermissionRequestEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { ruleOf } from './permissions.ts'

const tool: PermissionRequestEvent = {
  ...{ type: 'permission:request', sessionId: 's', requestId: 'r', kind: 'tool', toolName: 'Bash' },
  ...{ input: { command: 'ls' }, raw: {} },
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
