import { initialSessionState, reduceSession, type UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../common/json.ts'
import { claudeHistory } from './history.ts'

const FACTS = {
  sessionId: 's',
  nativeSessionId: 'n',
  cwd: '/p',
  at: '2026-01-01T00:00:00.000Z',
  gap: undefined,
}
const ASK = { type: 'user', uuid: 'u1', timestamp: '2026-01-01T00:00:01.000Z', message: { content: 'Hi' } }

function say(text: string, fields: JsonObject = {}): JsonObject {
  const message = {
    id: `m-${text}`,
    model: 'opus',
    stop_reason: 'end_turn',
    content: [{ type: 'text', text }],
  }
  return { type: 'assistant', uuid: text, version: '2.1.0', message, ...fields }
}

function events(...lines: JsonObject[]): UIEvent[] {
  return claudeHistory(lines, FACTS).envelopes.map(({ event }) => event)
}

test('has the times, the turns and the agent of the original', () => {
  const { envelopes } = claudeHistory([ASK, say('Hello.', { timestamp: '2026-01-01T00:00:02Z' })], FACTS)
  expect(envelopes).toMatchObject([
    { seq: 1, at: '2026-01-01T00:00:01.000Z', turnId: 'u1', event: { type: 'turn:start', message: 'Hi' } },
    {
      seq: 2,
      turnId: 'u1',
      event: { type: 'session:init', claudeSessionId: 'n', model: 'opus', version: '2.1.0' },
    },
    { seq: 3, at: '2026-01-01T00:00:02.000Z', event: { type: 'chat:message', text: 'Hello.' } },
    {
      seq: 4,
      at: '2026-01-01T00:00:02.000Z',
      turnId: 'u1',
      event: { type: 'turn:end', reason: 'completed' },
    },
  ])
})

test('context usage is emitted once for each message', () => {
  const usage = { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 100 }
  const block = (text: string) => ({
    type: 'assistant',
    uuid: text,
    message: { ...said(text), id: 'm', usage },
  })
  const told = events(ASK, block('a'), block('b')).filter(({ type }) => type === 'usage')
  expect(told).toHaveLength(1)
  const { envelopes } = claudeHistory([ASK, block('a')], FACTS)
  expect(reduceSession(initialSessionState('s'), envelopes).contextTokens).toBe(115)
})

test('a message sent while a turn runs is part of that turn', () => {
  const queued = { type: 'attachment', uuid: 'q', attachment: { type: 'queued_command', prompt: 'And this' } }
  const wakeUp = {
    ...queued,
    attachment: { ...queued.attachment, commandMode: 'task-notification', prompt: 'x' },
  }
  const all = events(ASK, say('a'), queued, wakeUp, say('b'))
  expect(all.filter(({ type }) => type === 'turn:start')).toHaveLength(1)
  expect(all.filter(({ type }) => type === 'status')).toMatchObject([
    { status: 'notice', message: 'And this' },
  ])
})

test.each([
  ['nothing was answered', [ASK], 'interrupted'],
  ['a call has no result', [ASK, call()], 'interrupted'],
  [
    'the user stopped it',
    [ASK, say('a'), { ...ASK, message: { content: '[Request interrupted by user]' } }],
    'interrupted',
  ],
  ['the API failed', [ASK, say('a'), failure()], 'failed'],
  ['the API failed and the agent went on', [ASK, failure(), say('a')], 'completed'],
])('a turn in which %s', (_what, lines, reason) => {
  expect(events(...lines).at(-1)).toEqual({ type: 'turn:end', sessionId: 's', reason })
})

test('a command of the agent itself has its output for an answer', () => {
  const typed = { ...ASK, message: { content: '<command-name>/cost</command-name>' } }
  const output = {
    type: 'user',
    uuid: 'o',
    message: { content: '<local-command-stdout>$1</local-command-stdout>' },
  }
  expect(events(typed, output)).toMatchObject([
    { type: 'turn:start', message: '/cost' },
    { type: 'session:init' },
    { type: 'chat:message', text: '$1' },
    { type: 'turn:end', reason: 'completed' },
  ])
})

test('a cut history starts with a gap event', () => {
  const { envelopes } = claudeHistory([ASK], { ...FACTS, gap: { missing: 2, reason: 'torn' } })
  expect(envelopes[0]).toMatchObject({
    seq: 1,
    turnId: null,
    event: { type: 'log:gap', missing: 2, reason: 'torn' },
  })
})

function said(text: string): JsonObject {
  return { model: 'opus', content: [{ type: 'text', text }] }
}

function call(): JsonObject {
  const content = [{ type: 'tool_use', id: 't', name: 'Bash', input: {} }]
  return {
    type: 'assistant',
    uuid: 'c',
    message: { id: 'm', model: 'opus', stop_reason: 'tool_use', content },
  }
}

function failure(): JsonObject {
  return say('Overloaded', {
    isApiErrorMessage: true,
    error: 'overloaded',
    message: { ...said('x'), model: '<synthetic>' },
  })
}
