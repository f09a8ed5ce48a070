import { describe, expect, test } from 'vitest'
import { readTool } from './read-tool.ts'

const read = (kind: string, item: Record<string, unknown>, cwd?: string) => readTool(kind, item, cwd)

describe('a command', () => {
  test("C20: has the folder only where it is not the session's", () => {
    const item = { command: 'ls', cwd: '/project' }
    expect(read('command_execution', item, '/project')?.input).toStrictEqual({ command: 'ls' })
    expect(read('command_execution', item, '/other')?.input).toStrictEqual({
      command: 'ls',
      cwd: '/project',
    })
  })

  test.each([
    [{ exit_code: 0, status: 'completed' }, false, ''],
    [{ exit_code: 7, status: 'failed' }, true, 'Exit code 7'],
    [{ exit_code: 7, status: 'completed' }, true, 'Exit code 7'],
    [{ exit_code: 1, status: 'failed', aggregated_output: 'no such file' }, true, 'no such file'],
    [{ exit_code: null, status: 'declined' }, true, 'Declined: it did not run.'],
    [{ exitCode: null, status: 'failed', aggregatedOutput: null }, true, 'Exit code unknown'],
    [{ exitCode: -1, status: 'failed', aggregatedOutput: 'begin' }, true, 'begin'],
  ])('C22: %j', (fields, isError, content) => {
    expect(read('command_execution', { command: 'x', ...fields })).toMatchObject({ isError, content })
  })
})

describe('a file change', () => {
  const exec = { changes: [{ path: '/p/a', kind: 'update' }], status: 'completed' }
  const app = {
    changes: [{ path: '/p/a', kind: { type: 'update', move_path: '/p/b' }, diff: '@@ -1 +1 @@' }],
    status: 'completed',
  }

  test('C20, C24: reads the same in both voices, but for the diffs that one of them has', () => {
    const plain = {
      name: 'file_change',
      input: { changes: [{ path: '/p/a', kind: 'update' }] },
      content: 'update /p/a',
      isError: false,
    }
    expect(read('file_change', exec)).toStrictEqual({ ...plain, detail: undefined })
    expect(read('file_change', app)).toStrictEqual({
      ...plain,
      detail: { changes: [{ path: '/p/a', kind: 'update', diff: '@@ -1 +1 @@', movePath: '/p/b' }] },
    })
  })

  test.each(['failed', 'declined'])('C22: %s means that it was not made', status => {
    expect(read('file_change', { ...exec, status })).toMatchObject({
      isError: true,
      content: 'Not applied:\nupdate /p/a',
    })
  })

  test('changes without a path, and kinds that are new, do no harm', () => {
    const changes = [null, { kind: 'add' }, { path: '/p/a', kind: { type: 'chmod' } }, { path: '/p/b' }]
    expect(read('file_change', { changes })?.content).toBe('chmod /p/a\nchange /p/b')
  })
})

describe('an MCP call', () => {
  const call = { server: 'srv', tool: 'ping', arguments: { text: 'hi' }, status: 'completed' }
  const content = [
    { type: 'text', text: 'pong' },
    { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    { type: 'resource', resource: { uri: 'file:///a', text: 'inside' } },
    { type: 'resource_link', uri: 'file:///b', name: 'b' },
  ]

  test('C20: has the name that the model uses, and text for what came back', () => {
    const expected = {
      name: 'mcp__srv__ping',
      input: { text: 'hi' },
      content: 'pong\n[image image/png]\ninside\n[resource_link file:///b]',
      isError: false,
      detail: { structuredContent: { a: 1 } },
    }
    const exec = { ...call, result: { content, structured_content: { a: 1 } }, error: null }
    const app = { ...call, result: { content, structuredContent: { a: 1 }, _meta: null }, error: null }
    expect(read('mcp_tool_call', exec)).toStrictEqual(expected)
    expect(read('mcp_tool_call', app)).toStrictEqual(expected)
  })

  test('C22: an error is its content', () => {
    const failed = { ...call, result: null, error: { message: 'needs approval' }, status: 'failed' }
    expect(read('mcp_tool_call', failed)).toMatchObject({ isError: true, content: 'needs approval' })
  })

  test("C22: a tool that says it failed is an error with the tool's words", () => {
    const failed = { ...call, result: { content: [{ type: 'text', text: 'bad' }] }, status: 'failed' }
    expect(read('mcp_tool_call', failed)).toMatchObject({ isError: true, content: 'bad' })
  })

  test.each([
    [null, {}],
    [undefined, {}],
    [[1], { arguments: [1] }],
    ['x', { arguments: 'x' }],
  ])('arguments %j become the input %j', (value, input) => {
    expect(read('mcp_tool_call', { ...call, arguments: value })?.input).toStrictEqual(input)
  })
})

describe('a call of another agent', () => {
  test('C20: reads the same in both voices', () => {
    const expected = {
      name: 'spawn_agent',
      input: { prompt: 'hello', threadIds: ['t2'] },
      content: 't2: pending_init',
      isError: false,
      detail: { agents: [{ threadId: 't2', status: 'pending_init' }] },
    }
    expect(
      read('collab_tool_call', {
        tool: 'spawn_agent',
        receiver_thread_ids: ['t2'],
        prompt: 'hello',
        agents_states: { t2: { status: 'pending_init', message: null } },
        status: 'completed',
      }),
    ).toStrictEqual(expected)
    expect(
      read('collab_agent_tool_call', {
        tool: 'spawnAgent',
        receiverThreadIds: ['t2'],
        prompt: 'hello',
        agentsStates: { t2: { status: 'pendingInit', message: null } },
        status: 'completed',
      }),
    ).toStrictEqual(expected)
  })

  test('C22: what the other agent said is the content; an interrupted one failed', () => {
    const item = { tool: 'wait', agentsStates: { t2: { status: 'completed', message: 'done' } } }
    expect(read('collab_agent_tool_call', item)).toMatchObject({ content: 't2: done', isError: false })
    expect(read('collab_agent_tool_call', { ...item, status: 'interrupted' })?.isError).toBe(true)
  })
})

describe('a web search', () => {
  test('C20: reads the same in both voices', () => {
    const search = {
      query: 'rust',
      action: { type: 'search', query: 'rust', queries: ['rust', 'rust lang'] },
    }
    const expected = {
      name: 'web_search',
      input: { query: 'rust', action: 'search', queries: ['rust', 'rust lang'] },
      content: 'rust\nrust lang',
      isError: false,
      detail: undefined,
    }
    expect(read('web_search', search)).toStrictEqual(expected)
    expect(read('web_search', { ...search, results: null })).toStrictEqual(expected)
    const page = { name: 'web_search', input: { query: 'u', action: 'open_page', url: 'u' }, content: 'u' }
    expect(read('web_search', { query: 'u', action: { type: 'open_page', url: 'u' } })).toMatchObject(page)
    expect(read('web_search', { query: 'u', action: { type: 'openPage', url: 'u' } })).toMatchObject(page)
  })
})

describe('C20: other calls', () => {
  test.each([
    [
      'dynamic_tool_call',
      {
        namespace: 'host',
        tool: 'lookup',
        arguments: { id: 1 },
        success: false,
        contentItems: [{ type: 'inputText', text: 'none' }],
      },
      { name: 'host__lookup', input: { id: 1 }, content: 'none', isError: true },
    ],
    [
      'function_call_output',
      { name: 'clock', namespace: null, output: '12:00' },
      { name: 'clock', input: {}, content: '12:00' },
    ],
    ['image_view', { path: '/p/a.png' }, { name: 'view_image', input: { path: '/p/a.png' } }],
    [
      'image_generation',
      { status: 'completed', revisedPrompt: 'a cat', result: 'AAAA', savedPath: '/p/cat.png' },
      { name: 'image_generation', input: { prompt: 'a cat' }, content: '/p/cat.png', isError: false },
    ],
    [
      'image_generation',
      { status: 'failed', failure: { type: 'usageLimitExceeded' } },
      { content: 'usageLimitExceeded', isError: true },
    ],
    ['sleep', { durationMs: 5 }, { name: 'sleep', input: { durationMs: 5 } }],
  ])('C20: %s', (kind, item, expected) => {
    expect(read(kind, item)).toMatchObject(expected)
    expect(JSON.stringify(read(kind, item))).not.toContain('AAAA')
  })

  test('an item that is no call gives undefined', () => {
    expect(read('agent_message', {})).toBeUndefined()
    expect(read('constructor', {})).toBeUndefined()
  })
})
