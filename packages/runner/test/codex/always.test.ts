import { existsSync } from 'node:fs'
import path from 'node:path'
import type { PermissionRequestEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { collect, ofType, run } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('a call that is allowed permanently is not asked about again, also by another process', async () => {
  const asks = (file: string) => ({
    blocks: [
      run(`touch ${path.join(world.project, file)}`, {
        sandbox_permissions: 'require_escalated',
        justification: 'x',
        prefix_rule: ['touch'],
      }),
    ],
  })
  const model = await world.model({ answers: [asks('one'), 'Done.', asks('two'), 'Done.'] })
  const requests: PermissionRequestEvent[] = []
  const turn = async () => {
    const harness = world.harness({ model, configOverrides: ['model="scripted"'] })
    const events = await collect(
      harness.startTurn(world.session(), 'Go', {
        permissionMode: 'default',
        decide: async request => {
          requests.push(request)
          return { behavior: 'allow', remember: 'always', by: 'policy', rule: 'allow touch' }
        },
      }),
    )
    await harness.close()
    return events
  }
  const first = await turn()
  expect(ofType(first, 'permission:resolved')).toEqual([
    {
      type: 'permission:resolved',
      sessionId: expect.any(String),
      requestId: requests[0]?.requestId,
      outcome: 'allowed',
      by: 'policy',
      rule: 'allow touch',
    },
  ])
  const second = await turn()
  expect(ofType(second, 'permission:request')).toEqual([])
  expect(requests).toHaveLength(1)
  expect(['one', 'two'].map(file => existsSync(path.join(world.project, file)))).toEqual([true, true])
})
