import { existsSync } from 'node:fs'
import path from 'node:path'
import type { PermissionDecision, PermissionRequestEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { ofType, statuses } from '../support/turns.ts'
import { sentMessages, turnOf, useApiWorld } from './support/world.ts'

const world = useApiWorld()

const WRITE = { tool: 'write', input: { file_path: 'a.txt', content: 'hello' }, id: 'c1' }

describe('questions and plans', () => {
  const question = 'Which colour?'
  const options = [{ label: 'red' }, { label: 'blue' }]
  const ASK = { tool: 'AskUserQuestion', input: { questions: [{ question, options }] }, id: 'c1' }
  const PLAN = { tool: 'ExitPlanMode', input: { plan: '# Do it' }, id: 'c1' }

  test('a question is asked as one, and its answer reaches the model', async () => {
    const { harness, model } = await world.open({ answers: [ASK, 'Blue, then.'] })
    const decide = async ({ input }: PermissionRequestEvent): Promise<PermissionDecision> => ({
      behavior: 'allow',
      updatedInput: { ...input, answers: { [question]: 'blue' } },
      remember: 'session',
    })
    const events = await turnOf(harness, world.session(), 'Paint', {
      permissionMode: 'bypassPermissions',
      decide,
    })
    expect(ofType(events, 'permission:request')).toMatchObject([{ kind: 'question', input: ASK.input }])
    expect(sentMessages(model).at(-1)?.content).toMatchObject([{ content: `${question}\nblue` }])
  })

  test.each<[string, PermissionDecision]>([
    ['no', { behavior: 'deny', message: 'Decide yourself.' }],
    ['yes without an answer', { behavior: 'allow' }],
  ])('a question that is answered by %s', async (_what, decision) => {
    const { harness } = await world.open({ answers: [ASK, 'Well.'] })
    const events = await turnOf(harness, world.session(), 'Paint', {
      permissionMode: 'default',
      decide: async () => decision,
    })
    expect(ofType(events, 'tool:result')).toMatchObject([{ isError: true }])
  })

  test('the model has no question tool if no one can answer', async () => {
    const { harness } = await world.open({ answers: ['Hm.', 'Hm.'] })
    const decide = async (): Promise<PermissionDecision> => ({ behavior: 'allow' })
    for (const opts of [
      { permissionMode: 'default' as const },
      { permissionMode: 'dontAsk' as const, decide },
    ]) {
      const events = await turnOf(harness, world.session(), 'Go', opts)
      expect(ofType(events, 'session:init')[0]?.tools).not.toContain('AskUserQuestion')
    }
  })

  test.each([true, false])(
    'a plan that is approved (%s) is carried out, another is not',
    async isApproved => {
      const { harness } = await world.open({ answers: [PLAN, { ...WRITE, id: 'c2' }, 'Done.'] })
      const decide = async ({ kind }: PermissionRequestEvent): Promise<PermissionDecision> =>
        kind !== 'plan' || isApproved ? { behavior: 'allow' } : { behavior: 'deny', message: 'Think again.' }
      const events = await turnOf(harness, world.session(), 'Go', { permissionMode: 'plan', decide })
      expect(ofType(events, 'permission:request')[0]).toMatchObject({
        kind: 'plan',
        input: { plan: '# Do it' },
      })
      expect(statuses(events, 'permission_mode')).toHaveLength(isApproved ? 1 : 0)
      expect(existsSync(path.join(world.project, 'a.txt'))).toBe(isApproved)
    },
  )
})
