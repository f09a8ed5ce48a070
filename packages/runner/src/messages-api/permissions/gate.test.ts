import { getEventListeners } from 'node:events'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import type { BuiltInTool } from '../tools/built-in-tool.ts'
import { Workspace } from '../tools/files/workspace.ts'
import { Gate } from './gate.ts'
import { Grants, Policy } from './policy.ts'

const TOOL: BuiltInTool = {
  name: 'run',
  description: 'Runs',
  effect: 'run',
  inputSchema: { type: 'object' },
  checksInput: true,
  subject: () => undefined,
  execute: async () => 'ran',
}

test('a request that is answered leaves nothing on the signal of its turn', async () => {
  const { signal } = new AbortController()
  const gate: Gate = new Gate({
    policy: new Policy({ mode: 'default' }),
    workspace: await Workspace.open(tmpdir()),
    grants: new Grants(),
    canAsk: true,
    onInterrupt: () => {},
    emit: ({ type, request_id }) => {
      if (type !== 'control_request') return
      expect(getEventListeners(signal, 'abort')).toHaveLength(1)
      gate.answer(String(request_id), { decision: { behavior: 'allow' }, by: 'person' })
    },
  })
  expect(await gate.guard(TOOL).execute({}, { signal, toolUseId: 'c1' })).toBe('ran')
  expect(getEventListeners(signal, 'abort')).toEqual([])
  expect(gate.isWaiting).toBe(false)
})
