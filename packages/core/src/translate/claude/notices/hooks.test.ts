import { expect, test } from 'vitest'
import { statuses, system } from '../../../../test/support/claude-lines.ts'

const response = (fields: Record<string, unknown>) =>
  system('hook_response', { hook_name: 'PreToolUse:Bash', hook_event: 'PreToolUse', ...fields })

test('E65: a hook that failed is a warning', () => {
  expect(statuses(response({ output: 'no way\n', exit_code: 2, outcome: 'error' }))).toStrictEqual([
    {
      type: 'status',
      sessionId: 'ours',
      status: 'hook',
      message: 'Hook PreToolUse:Bash failed (exit 2): no way',
      level: 'warn',
      data: {
        hook: 'PreToolUse:Bash',
        hookEvent: 'PreToolUse',
        outcome: 'error',
        exitCode: 2,
        output: 'no way',
      },
    },
  ])
  expect(statuses(response({ outcome: 'cancelled' }))).toMatchObject([
    { level: 'warn', message: 'Hook PreToolUse:Bash was cancelled' },
  ])
  expect(statuses(response({ outcome: 'success', exit_code: 1 }))).toMatchObject([{ level: 'warn' }])
})

test('E65: what a hook prints is told', () => {
  expect(statuses(response({ output: 'context\n', exit_code: 0, outcome: 'success' }))).toMatchObject([
    { level: 'info', message: 'Hook PreToolUse:Bash: context' },
  ])
  expect(
    statuses(system('hook_progress', { hook_name: 'Stop', stdout: 'still at it', output: '' })),
  ).toMatchObject([{ level: 'info', message: 'Hook Stop: still at it' }])
})

test('E65: pages of output are one line, and whole in the data', () => {
  const output = `${'x'.repeat(300)}\nmore`
  const [status] = statuses(response({ output, outcome: 'success' }))
  expect(status?.message).toBe(`Hook PreToolUse:Bash: ${'x'.repeat(200)}…`)
  expect(status?.data?.output).toBe(output)
})

test('E65: starting, and succeeding without a word, is not', () => {
  expect(statuses(system('hook_started', { hook_name: 'Stop' }))).toStrictEqual([])
  expect(statuses(response({ output: '', exit_code: 0, outcome: 'success' }))).toStrictEqual([])
})

test('E65: an object is for the agent: only its message is told, or that the hook failed', () => {
  const object = (fields: object) => JSON.stringify({ suppressOutput: true, ...fields })
  expect(statuses(response({ output: object({}), exit_code: 0, outcome: 'success' }))).toStrictEqual([])
  expect(
    statuses(response({ output: object({ systemMessage: 'Formatted.' }), outcome: 'success' })),
  ).toMatchObject([{ level: 'info', message: 'Hook PreToolUse:Bash: Formatted.' }])
  expect(statuses(response({ output: '{ not JSON', outcome: 'success' }))).toMatchObject([
    { message: 'Hook PreToolUse:Bash: { not JSON' },
  ])
  expect(statuses(response({ output: object({}), exit_code: 1, outcome: 'error' }))).toMatchObject([
    { level: 'warn', message: expect.stringContaining('failed (exit 1)') },
  ])
})
