import type { Envelope, UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { CoreEvents } from './core-events.ts'

const sessionId = 's'

test('an edited command is told as edited, also while another request waits', () => {
  const events = new CoreEvents()
  const from = (event: UIEvent) =>
    events.from({ seq: 1, at: '2026-01-01T00:00:00Z', sessionId, turnId: 't', event } as Envelope)
  const request = (requestId: string): UIEvent => ({
    type: 'permission:request',
    sessionId,
    requestId,
    toolUseId: requestId,
    kind: 'tool',
    toolName: 'Bash',
    input: { command: 'rm -rf dist' },
  })
  from(request('a'))
  from(request('b'))
  const answer: UIEvent = {
    type: 'permission:resolved',
    sessionId,
    requestId: 'a',
    outcome: 'allowed',
    by: 'person',
    updatedInput: { command: 'ls' },
    facts: { kind: 'execute', label: 'Bash', object: 'ls' },
  }
  expect(from(answer)).toEqual([
    { type: 'status', state: 'running tool', message: 'Bash, edited: ls' },
    { type: 'status', state: 'waiting', message: 'Bash waits for permission.' },
  ])
  expect(from({ ...answer, requestId: 'b', outcome: 'denied', updatedInput: undefined } as UIEvent)).toEqual([
    { type: 'status', state: 'thinking', message: 'Bash was denied' },
  ])
})
