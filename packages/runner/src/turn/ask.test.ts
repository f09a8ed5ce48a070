import { decisionTold, type PermissionDecision, type PermissionRequestEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { askForDecision } from './questions.ts'

const REQUEST: PermissionRequestEvent = {
  type: 'permission:request',
  sessionId: 's1',
  requestId: 'r1',
  kind: 'tool',
  toolName: 'Bash',
  input: { command: 'ls' },
  raw: {},
}

test.each<[string, PermissionDecision, string]>([
  ['nobody in particular', { behavior: 'allow' }, 'person'],
  ['a policy', { behavior: 'deny', by: 'policy', rule: 'deny Bash' }, 'policy'],
  ['a timer', { behavior: 'deny', by: 'timeout' }, 'timeout'],
  ['someone unheard of', { behavior: 'allow', by: 'cat' } as never, 'person'],
])('a decision by %s is passed on', async (_who, decision, by) => {
  const answered = await ask(async () => decision)
  expect(answered).toEqual({ decision, by, ...(decision.rule ? { rule: decision.rule } : {}) })
})

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['a word', 'allow'],
  ['another behaviour', { behavior: 'maybe' }],
  ['an input that is no object', { behavior: 'allow', updatedInput: 'rm -rf' }],
  ['an input that is a list', { behavior: 'allow', updatedInput: [] }],
])('%s for an answer means no', async (_what, answer) => {
  expect(await ask(async () => answer)).toEqual(no('The decision was neither yes nor no.'))
})

test('an answer that fails means no, and says why', async () => {
  const failing = () => Promise.reject(new Error('no screen'))
  expect(await ask(failing)).toEqual(no('The decision failed: no screen'))
})

test('without anyone to ask it means no', async () => {
  expect(await ask(undefined)).toEqual(no('Nobody is there to ask.'))
})

test('the resolved event names the rule and the reason, and a note replaces the reason', () => {
  const denied = {
    decision: { behavior: 'deny', message: 'Not that.' },
    by: 'policy',
    rule: 'deny Bash',
  } as const
  const base = { type: 'permission:resolved', sessionId: 's1', requestId: 'r1' }
  const told = { ...base, outcome: 'denied', by: 'policy', rule: 'deny Bash' }
  expect(decisionTold(REQUEST, denied)).toEqual({ ...told, message: 'Not that.' })
  expect(decisionTold(REQUEST, denied, 'Only now.')).toEqual({ ...told, message: 'Only now.' })
  const allowed = { decision: { behavior: 'allow' }, by: 'person' } as const
  expect(decisionTold(REQUEST, allowed)).toEqual({ ...base, outcome: 'allowed', by: 'person' })
})

function ask(decide: (() => Promise<unknown>) | undefined) {
  return askForDecision(decide as never, REQUEST, new AbortController().signal)
}

function no(message: string) {
  return { decision: { behavior: 'deny', message }, by: 'failure' }
}
