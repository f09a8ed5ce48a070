import { describe, expect, test } from 'vitest'
import {
  appCommand,
  appStatuses,
  appTurnStarted,
  completed,
  execEvents,
  itemStarted,
  notification,
  only,
  threadStarted,
} from '../../../test/support/codex-lines.ts'

const warn = (text: string) => completed({ id: 'item_0', type: 'error', message: text })
const processLevel = (method: string, params: object) => ({ method, params })

describe('C61: warnings', () => {
  const expected = { status: 'notice', level: 'warn', message: 'no such key', data: { kind: 'warning' } }

  test('C61: an error item of exec is one, and is told once', () => {
    const events = execEvents(threadStarted(), warn('no such key'), warn('no such key'), warn('other'))
    expect(only(events, 'status')).toMatchObject([expected, { message: 'other' }])
  })

  test('C61: app-server has several ways to tell it', () => {
    expect(
      appStatuses(
        processLevel('configWarning', { summary: 'no such key', details: null }),
        notification('warning', { threadId: null, message: 'no such key' }),
        notification('guardianWarning', { message: 'careful' }),
        processLevel('deprecationNotice', { summary: 'old', details: 'use new' }),
        processLevel('windows/worldWritableWarning', {}),
      ),
    ).toMatchObject([
      expected,
      { level: 'warn', message: 'careful' },
      { level: 'info', message: 'old (use new)' },
      { level: 'warn' },
    ])
  })

  test('C61: an empty warning gives no event', () => {
    expect(
      appStatuses(notification('warning', { message: '' }), processLevel('configWarning', {})),
    ).toStrictEqual([])
  })
})

test('C62: another model that takes over is told, the same in both voices', () => {
  const app = appStatuses(
    notification('model/rerouted', {
      fromModel: 'gpt-x',
      toModel: 'gpt-y',
      reason: 'highRiskCyberActivity',
    }),
  )
  const exec = execEvents(threadStarted(), warn('model rerouted: gpt-x -> gpt-y (HighRiskCyberActivity)'))
  expect(app).toStrictEqual(only(exec, 'status'))
  expect(app).toMatchObject([
    {
      status: 'model_fallback',
      message: 'Switched from gpt-x to gpt-y',
      data: { trigger: 'high_risk_cyber_activity', originalModel: 'gpt-x', fallbackModel: 'gpt-y' },
    },
  ])
})

describe('C65: the rest', () => {
  test('C65: an MCP server that does not start', () => {
    const server = (status: string, error: string | null = null) =>
      notification('mcpServer/startupStatus/updated', { name: 'srv', status, error })
    expect(appStatuses(server('starting'), server('ready'), server('failed', 'No such file'))).toMatchObject([
      { status: 'notice', level: 'warn', message: 'No such file', data: { kind: 'mcp_server', name: 'srv' } },
    ])
    expect(appStatuses(server('failed'))).toMatchObject([{ message: 'The MCP server srv did not start' }])
  })

  test('C65: a hook that failed or said something', () => {
    const hook = (run: object) => notification('hook/completed', { run: { eventName: 'preToolUse', ...run } })
    expect(
      appStatuses(
        hook({ status: 'completed', entries: [] }),
        hook({ status: 'completed', entries: [{ kind: 'warning', text: 'mind the gap' }] }),
        hook({ status: 'blocked', statusMessage: 'not here', entries: [] }),
      ),
    ).toMatchObject([
      { status: 'hook', level: 'info', message: 'Hook preToolUse: mind the gap' },
      { status: 'hook', level: 'warn', message: 'Hook preToolUse blocked: not here' },
    ])
  })

  test('C65: a denial by a reviewing model', () => {
    const review = (status: string) =>
      notification('item/autoApprovalReview/completed', {
        targetItemId: 'call_1',
        review: { status, rationale: 'too risky' },
        action: { type: 'command' },
      })
    const denied = appStatuses(
      appTurnStarted(),
      itemStarted(appCommand()),
      review('approved'),
      review('denied'),
    )
    expect(denied).toMatchObject([
      {
        status: 'permission_denied',
        message: 'command was not allowed to run: too risky',
        toolUseId: 'turn-1:call_1',
        data: { toolName: 'command', input: { command: 'ls' } },
      },
    ])
  })

  test.each([
    ['thread/name/updated', { threadName: 'My thread' }, 'Title: My thread'],
    ['thread/goal/updated', { goal: { objective: 'ship', status: 'active' } }, 'Goal: ship'],
    ['thread/reverted', {}, 'The conversation was taken back to an earlier point'],
    ['modelProvider/authRecoveryStarted', { message: 'Signing in' }, 'Signing in'],
    ['model/verification', {}, 'The model asks for this account to be verified'],
    [
      'model/safetyBuffering/updated',
      { showBufferingUi: true },
      'The answer is held back while it is checked',
    ],
  ])('C65: %s', (method, params, words) => {
    expect(appStatuses(notification(method, params))).toMatchObject([{ status: 'notice', message: words }])
  })

  test('C65: without anything to say there is nothing', () => {
    expect(
      appStatuses(
        notification('thread/name/updated', { threadName: null }),
        notification('thread/goal/updated', {}),
        notification('model/safetyBuffering/updated', { showBufferingUi: false }),
      ),
    ).toStrictEqual([])
  })
})
