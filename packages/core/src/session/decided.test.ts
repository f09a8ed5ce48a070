import { describe, expect, test } from 'vitest'
import type { Envelope, UIEvent } from '../events/ui-event.ts'
import { reduceSession } from './reduce.ts'
import { initialSessionState, type SessionItem, type SessionState } from './state.ts'

const sessionId = 's'

type Loose = UIEvent extends infer E ? (E extends UIEvent ? Omit<E, 'sessionId'> : never) : never

function envelopes(events: Loose[], turnId: string | null = 't1'): Envelope[] {
  return events.map((event, i) => ({
    seq: i + 1,
    at: new Date(Date.UTC(2026, 0, 1, 0, 0, i)).toISOString(),
    sessionId,
    turnId,
    event: { sessionId, ...event } as UIEvent,
  }))
}

function fold(events: Loose[]): SessionState {
  return reduceSession(initialSessionState(sessionId), envelopes(events))
}

const last = (state: SessionState): SessionItem | undefined => state.items.at(-1)

describe('the answer to a request', () => {
  const call = {
    type: 'tool:start',
    toolUseId: 'u',
    name: 'Bash',
    input: { command: 'rm -rf dist' },
  } as const
  const request: Loose = {
    type: 'permission:request',
    requestId: 'r',
    kind: 'tool',
    toolName: 'Bash',
    toolUseId: 'u',
    input: call.input,
    raw: null,
  }
  const edit: Loose = {
    type: 'permission:resolved',
    requestId: 'r',
    outcome: 'allowed',
    by: 'person',
    toolUseId: 'u',
    updatedInput: { command: 'ls' },
    facts: { kind: 'execute', label: 'Bash', object: 'ls', command: 'ls' },
  }
  const asked = { input: { command: 'rm -rf dist' } }

  test('E55: a call with an edited input has the input that ran, and the one that was asked for', () => {
    const state = fold([call, request, edit])
    expect(last(state)).toMatchObject({ input: { command: 'ls' }, facts: { object: 'ls' }, asked })
    expect(last(state)).toMatchObject({ decided: { outcome: 'allowed', by: 'person' } })
    expect(state.lastLine).toBe('Bash ls')
  })

  test('E55: an input that the agent writes after the answer is the one that was asked for', () => {
    const late: Loose = { type: 'tool:input', toolUseId: 'u', input: { command: 'rm -rf dist' } }
    const state = fold([{ ...call, input: {} }, request, edit, late])
    expect(last(state)).toMatchObject({ input: { command: 'ls' }, asked })
  })

  test('an answer without an edit leaves the input as it is', () => {
    const plain: Loose = { type: 'permission:resolved', requestId: 'r', outcome: 'allowed', by: 'person' }
    expect(last(fold([call, request, plain]))).not.toHaveProperty('asked')
  })

  test('a call that the mode of its agent refused was denied, too', () => {
    const denial: Loose = {
      type: 'status',
      status: 'permission_denied',
      level: 'warn',
      message: 'Bash was not allowed',
      toolUseId: 'u',
    }
    const state = fold([call, { type: 'tool:result', toolUseId: 'u', content: 'no', isError: true }, denial])
    expect(state.items[0]).toMatchObject({ decided: { outcome: 'denied', by: 'policy' } })
  })
})
