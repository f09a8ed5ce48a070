import { stripVTControlCharacters } from 'node:util'
import type { UIEvent, UIEventType } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { TerminalRenderer } from './terminal-renderer.ts'

type Body<T extends UIEventType> = Omit<Extract<UIEvent, { type: T }>, 'type' | 'sessionId'>

const usage = { input_tokens: 100, output_tokens: 20 }

function event<T extends UIEventType>(type: T, body: Body<T>): UIEvent {
  return { type, sessionId: 's', ...body } as unknown as UIEvent
}

function shown(events: UIEvent[], colour = false): string {
  const renderer = new TerminalRenderer({ colour })
  return events.map(each => renderer.render(each)).join('')
}

describe('each event alone', () => {
  // One row for every event type: a new type does not compile until it is listed here.
  const ROWS: { [T in UIEventType]: [Body<T>, string][] } = {
    'turn:start': [[{ message: 'Hi' }, '']],
    'session:init': [
      [{ claudeSessionId: null, model: 'opus', tools: [] }, 'opus\n'],
      [
        { claudeSessionId: 'id', model: 'opus', tools: [], version: '1.2.3' },
        'opus · Claude Code 1.2.3 · session id\n',
      ],
      [
        { claudeSessionId: 'id', model: 'gpt', tools: [], version: '0.1', harness: 'codex' },
        'gpt · Codex 0.1 · session id\n',
      ],
    ],
    'chat:delta': [
      [{ text: 'Hel' }, 'Hel'],
      [{ text: '\u001b[1mHel' }, 'Hel'],
      [{ text: 'of a sub-agent', parentToolUseId: 't' }, ''],
    ],
    'chat:message': [
      [{ messageId: 'm', text: 'Hello.' }, 'Hello.\n'],
      [{ messageId: 'm', text: 'of a sub-agent', parentToolUseId: 't' }, ''],
      [{ messageId: 'm', text: '', discarded: true }, ''],
    ],
    'chat:thinking': [[{ messageId: 'm', text: 'Hm.' }, '']],
    'chat:complete': [
      [{ text: 'Said by a slash command.' }, 'Said by a slash command.\n'],
      [{ text: '' }, ''],
    ],
    'tool:start': [
      [{ toolUseId: 't', name: 'Bash', input: {} }, ''],
      [{ toolUseId: 't', name: 'Bash', input: { command: 'ls' } }, '▸ Bash ls\n'],
      [{ toolUseId: 't', name: 'Bash', input: { command: 'ls' }, parentToolUseId: 'p' }, '  ▸ Bash ls\n'],
    ],
    'tool:input': [
      [{ toolUseId: 'never started', input: { command: 'ls' } }, ''],
      [{ toolUseId: 't', delta: '{"com' }, ''],
    ],
    'tool:result': [
      [{ toolUseId: 'never started', content: 'x', isError: false }, '  ✓ tool: x\n'],
      [{ toolUseId: 'never started', content: '', isError: true }, '  ✗ tool: no output\n'],
    ],
    'permission:request': [
      [
        { requestId: 'r', kind: 'tool', toolName: 'Bash', input: {}, raw: {} },
        '? Bash asks for permission\n',
      ],
      [
        {
          ...{ requestId: 'r', kind: 'tool', toolName: 'Bash', input: {}, raw: {} },
          always: { rule: 'allow Bash(npm test)', words: 'this exact command' },
        },
        '? Bash asks for permission · always: allow Bash(npm test)\n',
      ],
      [
        {
          ...{ requestId: 'r', kind: 'tool', toolName: 'Bash', input: {}, raw: {} },
          risks: [{ kind: 'root', part: 'sudo ls', words: 'Runs as the administrator.' }],
        },
        '? Bash asks for permission · This can change the whole machine\n',
      ],
    ],
    'permission:resolved': [
      [{ requestId: 'r', outcome: 'allowed', by: 'person' }, ''],
      [{ requestId: 'r', outcome: 'denied', by: 'policy' }, '  ✗ denied by a rule\n'],
      [
        { requestId: 'r', outcome: 'denied', by: 'person', message: 'only dist' },
        '  ✗ denied by you: only dist\n',
      ],
      [
        {
          ...{ requestId: 'r', outcome: 'allowed', by: 'person', updatedInput: { command: 'ls -la' } },
          facts: { kind: 'execute', label: 'Bash', object: 'ls -la' },
        },
        '  ▸ Bash ls -la (edited by you)\n',
      ],
    ],
    status: [
      [{ status: 'requesting', message: 'Waiting for the model', level: 'info' }, ''],
      [{ status: 'retrying', message: 'Again in 1 s', level: 'warn' }, '· Again in 1 s\n'],
      [{ status: 'notice', message: '', level: 'info' }, ''],
    ],
    usage: [[{ usage }, '']],
    budget: [
      [{ scope: 'session', spentUsd: 1, limitUsd: 2, exceeded: false }, ''],
      [
        { scope: 'session', spentUsd: 2, limitUsd: 2, exceeded: true },
        "· Stopped: the session's budget is used up. $2.00 of $2.00 was spent.\n",
      ],
    ],
    limits: [[{ windows: [{ name: 'week', usedPercent: 12 }] }, '']],
    'native:unknown': [
      [
        { harness: 'claude-code', nativeType: 'system/new\u0007', raw: {} },
        '? An event this version does not know: system/new\n',
      ],
      [
        { harness: 'claude-code', nativeType: 'malformed', raw: {} },
        '? The agent printed something that is not JSON; the raw log has it\n',
      ],
      [
        { harness: 'claude-code', nativeType: 'oversize', raw: {} },
        '? The agent printed a line that is too long to read; the raw log has it\n',
      ],
    ],
    'log:gap': [[{ afterSeq: 3, missing: 2, reason: 'torn' }, '· 2 events are missing here: torn\n']],
    'session:error': [
      [{ error: 'Overloaded', code: 'overloaded' }, '✗ Overloaded\n'],
      [{ error: 'Limit', code: 'max_turns', costUsd: 0.5, usage }, '✗ Limit\n$0.5000 · 100 in · 20 out\n'],
      [{ error: 'Interrupted', code: 'interrupted' }, ''],
      [{ error: 'Interrupted', code: 'interrupted', costUsd: 0.5, usage }, '$0.5000 · 100 in · 20 out\n'],
    ],
    'session:complete': [
      [{ costUsd: 0.00123, usage }, '$0.0012 · 100 in · 20 out\n'],
      [
        {
          costUsd: 1,
          usage: { ...usage, cache_read_input_tokens: 1000, cache_creation_input_tokens: 10 },
          durationMs: 1260,
        },
        '$1.00 · 1110 in · 20 out · 1.3 s\n',
      ],
    ],
    'turn:end': [
      [{ reason: 'completed' }, ''],
      [{ reason: 'failed' }, ''],
      [{ reason: 'interrupted' }, '■ interrupted\n'],
      [{ reason: 'killed' }, '■ killed\n'],
      [{ reason: 'timeout' }, '■ timeout\n'],
    ],
    'process:exit': [
      [{ code: 0, signal: null, leftRunning: 0 }, ''],
      [{ code: null, signal: 'SIGKILL', leftRunning: 2 }, '✗ Still running: 2\n'],
    ],
  }
  const cases = Object.entries(ROWS).flatMap(([type, rows]) =>
    rows.map(([body, text]) => [type, body, text] as const),
  )

  test.each(cases)('%s %j', (type, body, text) => {
    expect(shown([{ type, sessionId: 's', ...body } as UIEvent])).toBe(text)
  })
})

describe('a whole turn', () => {
  const TURN = [
    event('session:init', { claudeSessionId: 'id', model: 'opus', tools: [] }),
    event('chat:delta', { messageId: 'a', text: 'I ' }),
    event('chat:delta', { messageId: 'a', text: 'look.' }),
    event('chat:message', { messageId: 'a', text: 'I look.' }),
    event('tool:start', { toolUseId: '1', name: 'Bash', input: {} }),
    event('tool:input', { toolUseId: '1', delta: '{"command":' }),
    event('tool:start', { toolUseId: '2', name: 'Read', input: {} }),
    event('tool:input', { toolUseId: '1', input: { command: 'make test' } }),
    event('tool:input', { toolUseId: '2', input: { file_path: 'a.txt' } }),
    event('tool:result', { toolUseId: '1', content: 'ok\nall good', isError: false }),
    event('tool:result', { toolUseId: '2', content: 'no such file', isError: true }),
    event('status', { status: 'retrying', level: 'warn', message: 'Again' }),
    event('chat:delta', { messageId: 'b', text: 'Half an ans' }),
    event('session:error', { code: 'api_error', error: 'Broken', recovered: true }),
    event('chat:message', { messageId: 'c', text: 'Done.\nReally.' }),
    event('chat:complete', { text: 'Done.\nReally.' }),
    event('session:complete', { costUsd: 0.01, usage, durationMs: 900 }),
    event('session:init', { claudeSessionId: 'id', model: 'opus', tools: [] }),
    event('turn:end', { reason: 'completed' }),
    event('process:exit', { code: 0, signal: null }),
  ]

  test('reads from top to bottom', () => {
    expect(shown(TURN)).toBe(`opus · session id
I look.
▸ Bash make test
▸ Read a.txt
  ✓ Bash: ok (2 lines)
  ✗ no such file
· Again
Half an ans
✗ Broken
Done.
Really.
$0.0100 · 100 in · 20 out · 900 ms
`)
  })

  test('coloured output has the same text', () => {
    const coloured = shown(TURN, true)
    expect(coloured).toContain('\u001b[36m▸\u001b[39m \u001b[1mBash\u001b[22m make test\n')
    expect(stripVTControlCharacters(coloured)).toBe(shown(TURN))
  })
})

test('an answer that broke off is marked, because it stands there for good', () => {
  expect(
    shown([
      event('chat:delta', { messageId: 'm', text: 'Half' }),
      event('chat:message', { messageId: 'm', text: '', discarded: true }),
      event('chat:message', { messageId: 'n', text: 'Whole.' }),
    ]),
  ).toBe('Half\n· Broke off; starts again\nWhole.\n')
})

test('a turn whose cost the agent does not know is not shown as free', () => {
  expect(
    shown([
      event('session:init', { claudeSessionId: null, model: 'gpt', tools: [], harness: 'codex' }),
      event('session:complete', { costUsd: 0, usage, durationMs: 900 }),
    ]),
  ).toBe('gpt\n100 in · 20 out · 900 ms\n')
})

test('the cost of a turn is that of every other view: never less than was shown, and without earlier turns', () => {
  const turn = (costUsd: number) => [
    event('turn:start', { message: 'Go' }),
    event('usage', { usage, estimateUsd: 0.5 }),
    event('session:complete', { costUsd, usage }),
  ]
  expect(shown([...turn(0.2), ...turn(1)])).toBe('≈ $0.5000 · 100 in · 20 out\n≈ $0.7000 · 100 in · 20 out\n')
})

test('the same kind of unknown output is printed once', () => {
  const garbage = event('native:unknown', { harness: 'claude-code', nativeType: 'malformed', raw: {} })
  expect(shown([garbage, garbage, garbage]).split('\n')).toHaveLength(2)
})

test('the answer of each result is shown once, also of those without a message', () => {
  expect(
    shown([
      event('chat:message', { messageId: 'm', text: 'One.' }),
      event('chat:complete', { text: 'One.' }),
      event('chat:complete', { text: 'Two.' }),
    ]),
  ).toBe('One.\nTwo.\n')
})

test('a tool without input shows by its result', () => {
  expect(
    shown([
      event('tool:start', { toolUseId: '1', name: 'ListAgents', input: {} }),
      event('tool:result', { toolUseId: '1', content: 'none', isError: false }),
    ]),
  ).toBe('  ✓ ListAgents: none\n')
})
