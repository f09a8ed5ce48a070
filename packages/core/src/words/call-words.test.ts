import { describe, expect, test } from 'vitest'
import type { PermissionRequestEvent } from '../events/ui-event.ts'
import type { ToolItem } from '../session/state.ts'
import { decisionTold } from '../translate/told.ts'
import { callState, callWords, isUndone } from './call-words.ts'

function call(name: string, input: Record<string, unknown>, changes: Partial<ToolItem> = {}): ToolItem {
  const base = { kind: 'tool', seq: 1, id: 'u', at: '', turnId: 't', endedAt: '', durationMs: 5 } as const
  return { ...base, name, input, status: 'done', content: '', ...changes }
}

const bash = (changes: Partial<ToolItem> = {}) => call('Bash', { command: 'rm -rf dist' }, changes)
const edit = (changes: Partial<ToolItem> = {}) =>
  call('Edit', { file_path: 'a.ts', old_string: 'x', new_string: 'y' }, changes)
const write = (changes: Partial<ToolItem> = {}) => call('Write', { file_path: 'a.ts', content: 'x' }, changes)
const told = (item: ToolItem) => {
  const { verb, reason } = callWords(item)
  return reason === '' ? verb : `${verb} | ${reason}`
}

const failed = { status: 'failed' } as const
const wait = { from: '', askedAt: '2026-01-01T00:00:00Z', waitedMs: 0 }
const denied = { outcome: 'denied', by: 'person' } as const
const cancelled = { outcome: 'cancelled', by: 'turn-end' } as const

describe('a call says what is known of it', () => {
  test.each<[string, ToolItem, string]>([
    ['waits', bash({ status: 'running', content: null, wait }), 'Wants to run'],
    ['runs', bash({ status: 'running', content: null }), 'Running'],
    ['ran', bash(), 'Ran'],
    ['a command that failed ran', bash({ ...failed, content: 'Exit code 3' }), 'Ran'],
    ['a command that was denied did not', bash({ ...failed, decided: denied }), 'Denied | by you'],
    ['at once', bash({ status: 'running', content: null, decided: denied }), 'Denied | by you'],
    [
      'with the words of the person',
      bash({ ...failed, decided: { ...denied, message: 'only delete dist\nnow' } }),
      'Denied | by you: “only delete dist”',
    ],
    [
      'by a rule',
      write({ ...failed, decided: { outcome: 'denied', by: 'policy', rule: 'deny Write(*)' } }),
      'Denied writing | by a rule: deny Write(*)',
    ],
    [
      'by time',
      edit({ ...failed, decided: { ...denied, by: 'timeout' } }),
      'Denied editing | nobody answered',
    ],
    [
      'a failed edit changed nothing',
      edit({ ...failed, content: '<tool_use_error>String to replace not found in file.</tool_use_error>' }),
      'Did not edit | String to replace not found in file.',
    ],
    ['nor did a failed write', write({ ...failed, content: 'EACCES' }), 'Did not write | EACCES'],
    [
      'a failed read read nothing',
      call('Read', { file_path: 'a' }, { ...failed, content: 'no' }),
      'Did not read | no',
    ],
    [
      'a command that does not fit its tool never ran',
      bash({ ...failed, content: '<tool_use_error>InputValidationError: Bash failed</tool_use_error>' }),
      'Did not run | InputValidationError: Bash failed',
    ],
    [
      'nor one that a hook refused',
      bash({ ...failed, content: 'PreToolUse:Bash hook error: no' }),
      'Did not run | PreToolUse:Bash hook error: no',
    ],
    [
      'nor one that Codex declined',
      bash({ ...failed, content: 'Declined: it did not run.' }),
      'Did not run | Declined: it did not run.',
    ],
    [
      'nor one after a failed one',
      bash({ ...failed, content: 'Not executed because x failed.' }),
      'Did not run | Not executed because x failed.',
    ],
    [
      'no answer before the end',
      bash({ status: 'unfinished', content: null, decided: cancelled }),
      'Did not run | the turn ended before an answer',
    ],
    ['cut off', bash({ status: 'unfinished', content: null }), 'Cut off'],
    [
      'in the background',
      bash({ durationMs: null, wait: { ...wait, askedAt: null, background: true } }),
      'Started',
    ],
    ['a tool of a server', call('mcp__git__push', {}, { ...failed, content: 'no' }), 'git push'],
    [
      'a tool of a server, denied',
      call('mcp__git__push', {}, { ...failed, decided: denied }),
      'Denied git push | by you',
    ],
  ])('%s', (_what, item, expected) => expect(told(item)).toBe(expected))

  test('E56: what a denied or failed call asked for is not done', () => {
    expect([edit(), edit(failed), edit({ ...failed, decided: denied })].map(isUndone)).toEqual([
      false,
      true,
      true,
    ])
  })

  test('what was allowed after a denial ran', () => {
    expect(callState(bash({ decided: denied }))).toBe('ran')
  })

  test('an edited call says so, and what was asked for', () => {
    const decided = { outcome: 'allowed', by: 'person' } as const
    const edited = call('Bash', { command: 'ls' }, { decided, asked: { input: { command: 'rm -rf dist' } } })
    expect(callWords(edited)).toMatchObject({
      verb: 'Ran',
      edited: { by: 'edited by you', asked: 'rm -rf dist' },
    })
    const file = write({ decided, asked: { input: { file_path: 'a.ts', content: 'y' } } })
    expect(callWords(file)).toMatchObject({ verb: 'Wrote', edited: { by: 'edited by you', asked: '' } })
  })
})

describe('the answer in the log', () => {
  const request: PermissionRequestEvent = {
    sessionId: 's',
    requestId: 'r',
    kind: 'tool',
    toolName: 'Bash',
    toolUseId: 'u',
    type: 'permission:request',
    input: { command: 'rm x', timeout: 1 },
    raw: null,
  }
  const allow = (updatedInput?: Record<string, unknown>, changes: object = {}) =>
    decisionTold(
      { ...request, ...changes },
      { decision: { behavior: 'allow', ...(updatedInput && { updatedInput }) }, by: 'person' },
    )

  test('has an edited input with its facts and its call', () => {
    expect(allow({ command: 'ls' })).toMatchObject({
      updatedInput: { command: 'ls' },
      toolUseId: 'u',
      facts: { kind: 'execute', object: 'ls', command: 'ls' },
    })
  })

  test.each([
    ['no input', undefined],
    ['the same input', { command: 'rm x', timeout: 1 }],
    ['the same input in another order', { timeout: 1, command: 'rm x' }],
    ['the same input with an empty field', { command: 'rm x', timeout: 1, description: undefined }],
  ])('has none for %s', (_what, input) => expect(allow(input)).not.toHaveProperty('updatedInput'))

  test('has none for a question, whose answers are in its result', () => {
    expect(allow({ answers: { a: 'b' } }, { kind: 'question' })).not.toHaveProperty('updatedInput')
  })

  test('has none for a denial', () => {
    const decision = { behavior: 'deny', updatedInput: { command: 'ls' } } as never
    expect(decisionTold(request, { decision, by: 'person' })).not.toHaveProperty('updatedInput')
  })
})
