import type { AskedDecision, PermissionDecision, PermissionRequestEvent, UIEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { Questions } from './questions.ts'

const REQUEST: PermissionRequestEvent = {
  type: 'permission:request',
  sessionId: 's',
  requestId: 'r',
  kind: 'tool',
  toolName: 'Bash',
  input: {},
  toolUseId: 't',
  raw: {},
}
const RESOLVED: UIEvent = {
  type: 'permission:resolved',
  sessionId: 's',
  requestId: 'r',
  outcome: 'cancelled',
  by: 'agent',
}

describe('a question of an agent', () => {
  test('that is answered is told once: a withdrawal that crosses the answer is dropped', async () => {
    const { questions, told, decide } = ask()
    expect(questions.see(REQUEST)).toEqual([REQUEST])
    decide({ behavior: 'allow' })
    await settled()
    expect(told).toEqual([{ ...RESOLVED, outcome: 'allowed', by: 'person' }])
    expect(questions.see(RESOLVED)).toEqual([])
    expect(questions.close()).toEqual([])
  })

  test('that the agent withdraws aborts the signal, and a late decision is not sent', async () => {
    const { questions, told, answers, decide, signals } = ask()
    questions.see(REQUEST)
    expect(questions.see(RESOLVED)).toEqual([RESOLVED])
    expect(signals[0]?.aborted).toBe(true)
    decide({ behavior: 'allow' })
    await settled()
    expect([told, answers]).toEqual([[], []])
  })

  test('that is open when the turn is stopped gets no answer, and is cancelled with the turn', async () => {
    const { questions, answers, decide, signals } = ask()
    questions.see(REQUEST)
    questions.abandon()
    expect(signals[0]?.aborted).toBe(true)
    decide({ behavior: 'allow' })
    await settled()
    expect(answers).toEqual([])
    expect(questions.close()).toEqual([{ ...RESOLVED, by: 'turn-end' }])
    expect(questions.areOpen).toBe(false)
  })

  test('whose answer the agent tells itself stays open until then', async () => {
    const { questions, told, answers, decide } = ask({ tells: false })
    questions.see(REQUEST)
    decide({ behavior: 'deny' })
    await settled()
    expect(answers).toHaveLength(1)
    expect(told).toEqual([])
    expect(questions.see(RESOLVED)).toEqual([RESOLVED])
  })

  test('that no rule answers is denied in a mode that asks nobody, and does not wait', async () => {
    const { questions, told, answers, signals } = ask({ asksNobody: true })
    questions.see(REQUEST)
    await settled()
    expect(signals).toEqual([])
    expect(answers).toMatchObject([{ decision: { behavior: 'deny' }, by: 'policy' }])
    expect(told).toMatchObject([{ outcome: 'denied' }])
  })

  test('that nobody can answer is cancelled when its call is over', () => {
    const questions = new Questions({ requests: undefined, decide: undefined, tell: () => {} })
    questions.see(REQUEST)
    const result: UIEvent = {
      type: 'tool:result',
      sessionId: 's',
      toolUseId: 't',
      content: '',
      isError: false,
    }
    expect(questions.see(result)).toEqual([{ ...RESOLVED, by: 'failure' }, result])
    expect(questions.areOpen).toBe(false)
  })
})

function ask({ tells = true, asksNobody = false } = {}) {
  const told: UIEvent[] = []
  const answers: AskedDecision[] = []
  const signals: AbortSignal[] = []
  let decide: (decision: PermissionDecision) => void = () => {}
  const questions = new Questions({
    requests: {
      answer: (_request, asked) => {
        answers.push(asked)
        const { by, decision } = asked
        const outcome = decision.behavior === 'allow' ? 'allowed' : 'denied'
        return tells ? { ...RESOLVED, outcome, by } : undefined
      },
    },
    decide: (_request, signal) => {
      signals.push(signal)
      return new Promise(resolve => {
        decide = resolve
      })
    },
    asksNobody: () => asksNobody,
    tell: event => void told.push(event),
  })
  return { questions, told, answers, signals, decide: (decision: PermissionDecision) => decide(decision) }
}

/** Resolves after all pending promise callbacks have run. */
function settled(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
