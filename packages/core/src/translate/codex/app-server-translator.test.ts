import { describe, expect, test } from 'vitest'
import {
  appEvents,
  appMessage,
  appThreadStarted,
  appTurnCompleted,
  appTurnStarted,
  itemCompleted,
  notification,
  only,
  request,
  textDelta,
  translateApp,
} from '../../../test/support/codex-lines.ts'
import { NOTIFICATION_METHODS } from '../../native/codex/notification-methods.ts'

/** A line of the session's thread, moved to another one. */
function elsewhere(line: Record<string, unknown>, threadId = 'thread-2') {
  return { ...line, params: { ...(line.params as object), threadId } }
}

describe('several threads in one process', () => {
  test("C4: only messages of the session's own thread are translated", () => {
    const lines = [
      appThreadStarted(),
      appThreadStarted({ id: 'thread-2' }),
      appTurnStarted(),
      elsewhere(appTurnStarted('turn-9')),
      textDelta('a'),
      elsewhere(textDelta('no', 'msg_9')),
      elsewhere(itemCompleted(appMessage('no', 'msg_9'))),
      elsewhere(notification('thread/somethingNew')),
      elsewhere(request(1, 'item/tool/requestUserInput')),
      itemCompleted(appMessage('ab')),
      elsewhere(appTurnCompleted({ status: 'failed' })),
      appTurnCompleted(),
    ]
    const { events, outcome } = translateApp(lines)
    expect(events.map(event => event.type)).toStrictEqual([
      'session:init',
      'chat:delta',
      'chat:message',
      'chat:complete',
      'session:complete',
    ])
    expect(outcome).toMatchObject({ reason: 'completed' })
  })

  test("C4: without a name the first one that shows up is the session's", () => {
    const lines = [
      { id: 2, result: { thread: { id: 'thread-2' }, model: 'gpt-y' } },
      textDelta('no'),
      elsewhere(textDelta('yes')),
    ]
    const { events, nativeSessionId } = translateApp(lines, { threadId: undefined })
    expect(only(events, 'chat:delta').map(event => event.text)).toStrictEqual(['yes'])
    expect(nativeSessionId).toBe('thread-2')
  })

  test('C4: what names no thread is about all of them', () => {
    expect(appEvents({ method: 'configWarning', params: { summary: 'careful' } })).toHaveLength(1)
  })

  test.each([
    ['names its thread in another way', { session: { root: 'thread-1' } }, 1],
    ['names another thread in another way', { session: { root: 'thread-2' } }, 0],
    ['only speaks of the thread', { text: 'see thread-1' }, 0],
    ['names nobody', { value: 1 }, 0],
  ])('C4: a message of a kind that is not known and %s', (_what, params, shown) => {
    expect(appEvents({ method: 'from/the/future', params })).toHaveLength(shown)
  })

  test('C4: what Codex up to 0.110 tells a second time in older words is not told', () => {
    const params = {
      id: 'turn-1',
      msg: { type: 'agent_message_delta', delta: 'a' },
      conversationId: 'thread-1',
    }
    expect(appEvents({ method: 'codex/event/agent_message_delta', params })).toEqual([])
  })

  test('C4: the thread of a fork belongs to another session', () => {
    const fork = { id: 3, result: { thread: { id: 'thread-2', forkedFromId: 'thread-1' }, model: 'gpt-y' } }
    expect(appEvents(fork)).toStrictEqual([])
  })

  test("C4: a sub-agent's requests are raised, and end, here", () => {
    const child = elsewhere(notification('turn/started', { turn: { id: 'turn-9', rootTurnId: 'turn-1' } }))
    const ask = elsewhere(
      request(1, 'item/commandExecution/requestApproval', { turnId: 'turn-9', command: 'x' }),
    )
    const events = appEvents(
      appTurnStarted(),
      child,
      ask,
      elsewhere(textDelta('no')),
      elsewhere(notification('serverRequest/resolved', { requestId: 1 })),
    )
    expect(events.slice(1)).toMatchObject([
      { type: 'permission:request', requestId: 'turn-9:1', agentId: 'thread-2', input: { command: 'x' } },
      { type: 'permission:resolved', requestId: 'turn-9:1' },
    ])
    const stranger = elsewhere(notification('turn/started', { turn: { id: 'turn-9', rootTurnId: 'turn-9' } }))
    expect(only(appEvents(appTurnStarted(), stranger, ask), 'permission:request')).toStrictEqual([])
  })
})

describe('messages that are not told of', () => {
  // Written out, so that a new silence is a decision.
  const SILENT = [
    'account/gatewayOAuth/changed',
    'account/login/completed',
    'account/updated',
    'app/list/updated',
    'autoApprovalReview/strictReviewRequired',
    'command/exec/outputDelta',
    'externalAgentConfig/import/completed',
    'externalAgentConfig/import/progress',
    'fs/changed',
    'fuzzyFileSearch/sessionCompleted',
    'fuzzyFileSearch/sessionUpdated',
    'hook/started',
    'item/autoApprovalReview/started',
    'item/fileChange/outputDelta',
    'item/reasoning/summaryPartAdded',
    'mcpServer/event/stream/notification',
    'mcpServer/oauthLogin/completed',
    'process/exited',
    'process/outputDelta',
    'project/changed',
    'rawResponse/completed',
    'rawResponseItem/completed',
    'remoteControl/status/changed',
    'skills/changed',
    'thread/archived',
    'thread/attachment/updated',
    'thread/closed',
    'thread/deleted',
    'thread/environment/connected',
    'thread/environment/disconnected',
    'thread/goal/cleared',
    'thread/prediction/updated',
    'thread/project/updated',
    'thread/queue/changed',
    'thread/readState/changed',
    'thread/realtime/closed',
    'thread/realtime/error',
    'thread/realtime/item/completed',
    'thread/realtime/item/started',
    'thread/realtime/item/transcript/delta',
    'thread/realtime/itemAdded',
    'thread/realtime/outputAudio/delta',
    'thread/realtime/sdp',
    'thread/realtime/started',
    'thread/realtime/transcript/delta',
    'thread/realtime/transcript/done',
    'thread/status/changed',
    'thread/unarchived',
    'turn/moderationMetadata',
    'windowsSandbox/setupCompleted',
  ]

  test.each(SILENT)('C70: %s', method => {
    expect(NOTIFICATION_METHODS).toContain(method)
    expect(appEvents(notification(method, { message: 'x', delta: 'x', itemId: 'msg_1' }))).toStrictEqual([])
  })

  test.each([
    { id: 1, result: {} },
    { id: 1, result: null },
    { id: 1, error: { code: -32600, message: 'thread not found' } },
  ])('C70: the response %j, which whoever asked deals with', response => {
    expect(appEvents(response)).toStrictEqual([])
  })
})

describe('drift', () => {
  test('C80: a notification with a new name is kept whole', () => {
    const line = notification('thread/somethingNew', { x: 1 })
    expect(appEvents(line)).toStrictEqual([
      {
        type: 'native:unknown',
        sessionId: 'ours',
        harness: 'codex',
        nativeType: 'thread/somethingNew',
        raw: line,
      },
    ])
  })

  test('C80: so is a line of the other voice, and a thread without an id', () => {
    expect(appEvents({ type: 'turn.started' })).toMatchObject([{ nativeType: 'turn.started' }])
    expect(appEvents({ method: 'thread/started', params: {} })).toMatchObject([
      { nativeType: 'thread/started' },
    ])
  })

  test('C83: a turn that ends without a word has ended', () => {
    expect(translateApp([appTurnStarted(), { method: 'turn/completed' }]).outcome).toMatchObject({
      reason: 'completed',
    })
  })
})
