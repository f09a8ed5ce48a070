import { DecisionBroker } from '@chirality/sessions'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { permissionRequest } from './permission-request.ts'

type Step = 'allow' | 'deny' | 'invalid' | 'withdraw' | 'close-session' | 'leave-to-the-timeout'

const step = fc.constantFrom<Step>(
  'allow',
  'deny',
  'invalid',
  'withdraw',
  'close-session',
  'leave-to-the-timeout',
)
const TIMEOUT_MS = 5

// Answers, withdrawals and timeouts race on purpose; which of them wins is open, that exactly one does is not.
test('each of 1,000 requests is settled exactly once, and never allowed without an allowing answer', async () => {
  const plans = fc.sample(fc.array(step, { maxLength: 4 }), { numRuns: 1000, seed: 7 })
  const broker = new DecisionBroker({ timeoutMs: TIMEOUT_MS })
  const opened = new Map<string, () => void>()
  broker.onChange(() => {
    for (const { request } of broker.pending()) {
      opened.get(request.requestId)?.()
      opened.delete(request.requestId)
    }
  })
  const outcomes = await Promise.all(plans.map((plan, n) => settle(broker, { plan, n, opened })))
  for (const { decision, taken, times } of outcomes) {
    expect(times).toBe(1)
    expect(taken.length).toBeLessThanOrEqual(1)
    expect(decision.behavior).toBe(taken[0] ?? 'deny')
    expect(decision.by === 'person').toBe(taken.length === 1)
  }
  expect(new Set(outcomes.map(({ decision }) => decision.by))).toEqual(
    new Set(['person', 'turn-end', 'timeout']),
  )
  expect(broker.pending()).toEqual([])
})

interface Run {
  plan: Step[]
  n: number
  opened: Map<string, () => void>
}

async function settle(broker: DecisionBroker, { plan, n, opened }: Run) {
  const sessionId = `s${n % 10}`
  const requestId = `r${n}`
  const agent = new AbortController()
  const waits = new Promise<void>(resolve => opened.set(requestId, resolve))
  let times = 0
  const decided = broker.ask(
    { sessionId, projectRoot: '/p', persona: null, harness: 'codex' },
    permissionRequest({ sessionId, requestId }),
    agent.signal,
  )
  const counted = decided.then(decision => {
    times += 1
    return decision
  })
  await waits
  const taken: string[] = []
  for (const [index, each] of plan.entries()) {
    if (index > 0) await new Promise(resolve => setImmediate(resolve))
    if (each === 'withdraw') agent.abort()
    else if (each === 'close-session' && n % 50 === 0) broker.closeSession(sessionId)
    else if (each === 'allow' || each === 'deny' || each === 'invalid') {
      if (isTaken(() => broker.answer(sessionId, requestId, { behavior: each as 'allow' }))) taken.push(each)
    }
  }
  return { decision: await counted, taken, times }
}

function isTaken(answer: () => void): boolean {
  try {
    answer()
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: expect.stringMatching(/^decision-/) })
    return false
  }
}
