import { expect, test } from 'vitest'
import { permissionRequest as request } from '../../test/decisions/permission-request.ts'
import type { AskContext } from './ask-context.ts'
import { DecisionBroker } from './decision-broker.ts'

const context: AskContext = {
  sessionId: 's1',
  projectRoot: '/project',
  persona: null,
  harness: 'claude-code',
}

/** A signal that never fires. */
function never(): AbortSignal {
  return new AbortController().signal
}

test('a flood of requests of one session is bounded: what exceeds it is denied with the reason, others are asked', async () => {
  const broker = new DecisionBroker()
  const asked = Array.from({ length: 103 }, (_, at) =>
    broker.ask(context, request({ requestId: `flood-${at}` }), never()),
  )
  const late = await Promise.all(asked.slice(100))
  expect(late.map(({ behavior, by }) => [behavior, by])).toEqual(Array(3).fill(['deny', 'policy']))
  expect(late[0]).toMatchObject({ message: expect.stringContaining('100 requests') })
  expect(broker.pending('s1')).toHaveLength(100)
  const other = broker.ask({ ...context, sessionId: 's2' }, request({ requestId: 'other' }), never())
  await Promise.resolve()
  broker.answer('s1', 'flood-0', { behavior: 'allow' })
  expect(await asked[0]).toMatchObject({ behavior: 'allow', by: 'person' })
  void broker.ask(context, request({ requestId: 'next' }), never())
  await new Promise(setImmediate)
  expect(broker.pending('s1').at(-1)?.request.requestId).toBe('next')
  broker.closeSession('s1')
  broker.closeSession('s2')
  expect(await other).toMatchObject({ behavior: 'deny' })
})
