import { describe, expect, test } from 'vitest'
import {
  appCommand,
  appEvents,
  appTurnCompleted,
  appTurnStarted,
  itemStarted,
  notification,
  only,
  parse,
  request,
  SESSION,
  THREAD,
} from '../../../../test/support/codex-lines.ts'
import { createCodexAppServerTranslator } from '../app-server-translator.ts'
import { HOST_REQUESTS } from './requests.ts'

const ask = (...lines: unknown[]) => only(appEvents(appTurnStarted(), ...lines), 'permission:request')
const resolved = (requestId: string | number) =>
  notification('serverRequest/resolved', { requestId, turnId: undefined })
const approval = request(0, 'item/commandExecution/requestApproval', {
  itemId: 'call_1',
  command: 'rm x',
  cwd: '/project',
  reason: 'Need to',
  availableDecisions: ['accept', 'cancel'],
})

describe('what is asked', () => {
  test('C50: to run a command', () => {
    expect(ask(itemStarted(appCommand({ command: 'rm x' })), approval)).toStrictEqual([
      {
        type: 'permission:request',
        sessionId: SESSION,
        requestId: 'turn-1:0',
        kind: 'tool',
        toolName: 'command',
        input: { command: 'rm x', cwd: '/project' },
        facts: { kind: 'execute', label: 'Command', object: 'rm x', command: 'rm x' },
        suggestions: ['accept', 'cancel'],
        toolUseId: 'turn-1:call_1',
        reason: 'Need to',
        raw: approval,
      },
    ])
  })

  test('C50: to reach the network', () => {
    const network = { host: 'example.test', protocol: 'https' }
    const line = request(0, 'item/commandExecution/requestApproval', { networkApprovalContext: network })
    expect(ask(line)).toMatchObject([{ toolName: 'command', input: { network } }])
  })

  test('C24, C50: to change files, with the diffs', () => {
    const change = {
      type: 'fileChange',
      id: 'call_1',
      changes: [{ path: '/p/a', kind: { type: 'add' }, diff: 'line' }],
      status: 'inProgress',
    }
    const line = request(1, 'item/fileChange/requestApproval', { itemId: 'call_1', grantRoot: '/p' })
    expect(ask(itemStarted(change), line)).toMatchObject([
      {
        kind: 'tool',
        toolName: 'file_change',
        toolUseId: 'turn-1:call_1',
        input: { changes: [{ path: '/p/a', kind: 'add', diff: 'line' }], grantRoot: '/p' },
      },
    ])
    expect(ask(line)).toMatchObject([{ input: { grantRoot: '/p' } }])
  })

  test('C50: to call an MCP tool, though it comes as a question of the server', () => {
    const call = (id: string, tool: string, args: object) =>
      itemStarted({ type: 'mcpToolCall', id, server: 'srv', tool, arguments: args, status: 'inProgress' })
    const line = request(2, 'mcpServer/elicitation/request', {
      serverName: 'srv',
      message: 'Allow the srv MCP server to run tool "ping"?',
      _meta: { codex_approval_kind: 'mcp_tool_call', tool_params: { n: 1 }, persist: ['session'] },
    })
    const expected = {
      kind: 'tool',
      toolName: 'mcp__srv__ping',
      input: { n: 1 },
      reason: 'Allow the srv MCP server to run tool "ping"?',
      suggestions: ['session'],
    }
    expect(ask(line)).toMatchObject([expected])
    expect(ask(call('c1', 'ping', { n: 1 }), call('c2', 'ping', { n: 2 }), line)).toMatchObject([
      { ...expected, toolUseId: 'turn-1:c1' },
    ])
    expect(ask(call('c2', 'other', { n: 2 }), line)).toMatchObject([{ toolName: 'mcp__srv__other' }])
  })

  test('C50: a question', () => {
    const questions = [{ id: 'q', question: 'Which?', options: [] }]
    expect(ask(request(3, 'item/tool/requestUserInput', { questions }))).toMatchObject([
      { kind: 'question', toolName: 'request_user_input', input: { questions } },
    ])
    const form = request(4, 'mcpServer/elicitation/request', {
      turnId: null,
      serverName: 'srv',
      mode: 'form',
      message: 'Your name?',
      requestedSchema: { type: 'object' },
      _meta: null,
    })
    expect(ask(form)).toMatchObject([
      {
        kind: 'question',
        requestId: 'thread-1:4',
        toolName: 'mcp__srv',
        input: { message: 'Your name?', schema: { type: 'object' } },
      },
    ])
  })

  test('C50: for more permissions', () => {
    const permissions = { network: { enabled: true } }
    expect(ask(request(5, 'item/permissions/requestApproval', { permissions, cwd: '/p' }))).toMatchObject([
      { kind: 'tool', toolName: 'request_permissions', input: { permissions, cwd: '/p' } },
    ])
  })

  test('C51: something that this version does not know', () => {
    const line = request('six', 'item/somethingNew', { secret: 1 })
    expect(ask(line)).toMatchObject([
      { kind: 'unknown', requestId: 'turn-1:six', toolName: 'item/somethingNew', input: {}, raw: line },
    ])
    expect(ask({ id: 7, method: 'host/somethingNew' })).toMatchObject([{ requestId: 'thread-1:7' }])
    const legacy = { id: 8, method: 'execCommandApproval', params: { conversationId: THREAD } }
    expect(ask(legacy)).toMatchObject([{ kind: 'unknown' }])
  })

  test.each([...HOST_REQUESTS])('C51: %s is answered by the host, not by a person', method => {
    expect(ask(request(8, method))).toStrictEqual([])
  })

  test('C53: the same native id in another turn is another request', () => {
    const later = request(0, 'item/tool/requestUserInput', { turnId: 'turn-2' })
    const ids = ask(approval, appTurnCompleted(), appTurnStarted('turn-2'), later).map(e => e.requestId)
    expect(ids).toStrictEqual(['turn-1:0', 'turn-2:0'])
  })
})

describe('when it need not wait any more', () => {
  const cancelled = {
    type: 'permission:resolved',
    sessionId: SESSION,
    requestId: 'turn-1:0',
    outcome: 'cancelled',
    by: 'agent',
  }
  const ends = (...lines: unknown[]) => only(appEvents(appTurnStarted(), ...lines), 'permission:resolved')

  test('C52: the agent withdraws it', () => {
    expect(ends(approval, resolved(0), resolved(0))).toStrictEqual([cancelled])
  })

  test('C52: the turn ends first, as after an interrupt', () => {
    const events = appEvents(
      appTurnStarted(),
      approval,
      appTurnCompleted({ status: 'interrupted' }),
      resolved(0),
    )
    expect(events.map(event => event.type).slice(-2)).toStrictEqual(['permission:resolved', 'session:error'])
  })

  test('C52: the output ends', () => {
    expect(ends(approval)).toStrictEqual([cancelled])
  })

  test('C52: that an answered one is over is no news', () => {
    const translator = createCodexAppServerTranslator({ sessionId: SESSION, threadId: THREAD })
    const say = (line: unknown) => translator.translate(parse(line))
    say(appTurnStarted())
    expect(say(approval)).toMatchObject([{ requestId: 'turn-1:0' }])
    translator.answered('turn-1:0')
    translator.answered('no such request')
    expect(say(resolved(0))).toStrictEqual([])
    expect(translator.end()).toStrictEqual([])
  })

  test('a number and a text are different ids', () => {
    expect(ends(approval, resolved('0'), notification('serverRequest/resolved', {}))).toHaveLength(1)
  })
})
