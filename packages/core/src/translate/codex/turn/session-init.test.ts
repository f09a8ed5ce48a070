import { describe, expect, test } from 'vitest'
import {
  appEvents,
  appThreadStarted,
  appTurnCompleted,
  appTurnStarted,
  notification,
  only,
  threadStarted,
  translateApp,
  translateExec,
} from '../../../../test/support/codex-lines.ts'

const sessionId = 'ours'
const response = {
  id: 2,
  result: {
    thread: { id: 'thread-1', model: 'gpt-x', cwd: '/project', cliVersion: '0.1.0' },
    model: 'gpt-x',
    cwd: '/project',
    approvalPolicy: 'on-request',
    sandbox: { type: 'workspaceWrite', writableRoots: [] },
  },
}
const initialize = { id: 1, result: { userAgent: 'chirality/0.166.0 (Debian 12.0.0; x86_64) unknown' } }
const inits = (...lines: unknown[]) => only(appEvents(...lines), 'session:init')

describe('exec', () => {
  test('C2: the id, and what whoever started it knows', () => {
    const { events, nativeSessionId } = translateExec([threadStarted()], {
      agent: { model: 'gpt-x', version: '0.166.0', cwd: '/project', permissionMode: 'read-only' },
    })
    expect(events).toStrictEqual([
      {
        type: 'session:init',
        sessionId,
        claudeSessionId: 'thread-1',
        model: 'gpt-x',
        tools: [],
        harness: 'codex',
        version: '0.166.0',
        cwd: '/project',
        permissionMode: 'read-only',
      },
    ])
    expect(nativeSessionId).toBe('thread-1')
  })

  test('C2: the rest is not known', () => {
    expect(translateExec([threadStarted()]).events).toStrictEqual([
      {
        type: 'session:init',
        sessionId,
        claudeSessionId: 'thread-1',
        model: '',
        tools: [],
        harness: 'codex',
      },
    ])
    expect(translateExec([]).nativeSessionId).toBeNull()
  })
})

describe('app-server', () => {
  test('C2: once, though a response and a notification tell it', () => {
    expect(inits(initialize, response, appThreadStarted(), appTurnStarted())).toStrictEqual([
      {
        type: 'session:init',
        sessionId,
        claudeSessionId: 'thread-1',
        model: 'gpt-x',
        tools: [],
        harness: 'codex',
        version: '0.166.0',
        cwd: '/project',
        permissionMode: 'workspace-write, on-request',
      },
    ])
  })

  test('C2: a resumed thread has only the response', () => {
    expect(inits(response)).toHaveLength(1)
  })

  test('C2: with nothing but a turn the id is still known', () => {
    expect(inits(appTurnStarted())).toMatchObject([{ claudeSessionId: 'thread-1', model: '' }])
    expect(translateApp([], { threadId: 'given' }).nativeSessionId).toBe('given')
  })

  test('C2: again when something changed: at once in a turn, else with the next', () => {
    const changed = (model: string) =>
      notification('thread/settings/updated', {
        threadSettings: { model, approvalPolicy: { granular: {} }, sandboxPolicy: { type: 'readOnly' } },
      })
    const lines = [
      appThreadStarted(),
      appTurnStarted(),
      changed('gpt-y'),
      appTurnCompleted(),
      changed('gpt-z'),
    ]
    expect(inits(...lines).map(event => event.model)).toStrictEqual(['gpt-x', 'gpt-y'])
    const next = inits(...lines, appTurnStarted('turn-2'), appTurnStarted('turn-2'))
    expect(next.map(event => event.model)).toStrictEqual(['gpt-x', 'gpt-y', 'gpt-z'])
    expect(next[1]?.permissionMode).toBe('read-only, granular')
  })

  test('C2: MCP servers as far as they have come', () => {
    const server = (status: string) =>
      notification('mcpServer/startupStatus/updated', { name: 'srv', status, error: null })
    expect(inits(appThreadStarted(), server('starting'), server('ready'), appTurnStarted())[1]).toMatchObject(
      {
        mcpServers: [{ name: 'srv', status: 'ready' }],
      },
    )
  })

  test('C2: the version of the thread stands in where the agent did not introduce itself', () => {
    expect(inits(appThreadStarted())).toMatchObject([{ version: '0.1.0' }])
    expect(inits({ id: 1, result: { userAgent: 'odd' } }, appThreadStarted())).toMatchObject([
      { version: '0.1.0' },
    ])
  })
})
