import { describe, expect, test } from 'vitest'
import {
  assistant,
  blockStart,
  blockStop,
  delta,
  eventsOf,
  init,
  result,
  stream,
  system,
  text,
  textDelta,
  user,
} from '../../../test/support/claude-lines.ts'
import { createClaudeTranslator } from './claude-translator.ts'

test('E1: every event carries our session id', () => {
  const events = eventsOf(init(), textDelta('x'), assistant('m', text('x')), { type: 'new' }, result())
  expect(events.length).toBeGreaterThan(5)
  expect(new Set(events.map(event => event.sessionId))).toStrictEqual(new Set(['ours']))
})

test('E4: the same lines give the same events, and translators do not share state', () => {
  const lines = [init(), textDelta('x'), assistant('m', text('x')), result()]
  expect(eventsOf(...lines)).toStrictEqual(eventsOf(...lines))
})

test.each([
  { type: 'command_lifecycle', state: 'queued' },
  { type: 'control_response', response: { subtype: 'success' } },
  { type: 'keep_alive' },
  system('thinking_tokens', { estimated_tokens: 4 }),
  system('hook_started', { hook_name: 'Stop' }),
  system('commands_changed', { commands: [] }),
  system('control_request_progress', { status: 'started' }),
  system('elicitation_complete', { elicitation_id: 'e' }),
  system('files_persisted', { files: [] }),
  system('post_turn_summary'),
  system('stop_hook_summary'),
  system('turn_duration'),
  blockStop(),
  stream({ type: 'ping' }),
  delta({ type: 'signature_delta', signature: 'c2ln' }),
  delta({ type: 'citations_delta', citation: {} }),
])('E70: %j is known and silent', line => {
  expect(eventsOf(line)).toStrictEqual([])
})

describe('drift', () => {
  test.each([
    [{ type: 'hologram' }, 'hologram'],
    [system('vcs_state_changed'), 'system/vcs_state_changed'],
    [stream({ type: 'message_rewind' }), 'stream_event/message_rewind'],
    [{ type: 'stream_event', event: null }, 'stream_event'],
    [delta({ type: 'audio_delta' }), 'stream_event/content_block_delta/audio_delta'],
    [blockStart({ type: 'audio' }), 'stream_event/content_block_start/audio'],
    [blockStart({ type: 'tool_use', name: 'no id' }), 'stream_event/content_block_start/tool_use'],
    [assistant('m', { type: 'audio' }), 'assistant/audio'],
    [{ type: 'assistant' }, 'assistant'],
    [user([{ type: 'audio' }]), 'user/audio'],
    [{ type: 'user', message: 'x' }, 'user'],
    [{ type: 'rate_limit_event' }, 'rate_limit_event'],
  ])('E80: %j is kept as %s', (raw, nativeType) => {
    expect(eventsOf(raw)).toStrictEqual([
      { type: 'native:unknown', sessionId: 'ours', harness: 'claude-code', nativeType, raw },
    ])
  })

  test('E80: one unknown block does not cost its neighbours', () => {
    const events = eventsOf(assistant('m', [text('before'), { type: 'audio' }, text('after')]))
    expect(events.map(event => event.type)).toStrictEqual(['chat:message', 'native:unknown', 'chat:message'])
  })

  test('E83: a result of a new sort still ends the turn', () => {
    expect(eventsOf(result({ subtype: 'success_with_confetti' })).map(event => event.type)).toStrictEqual([
      'chat:complete',
      'session:complete',
    ])
  })
})

describe('translateRecord', () => {
  const record = (value: Parameters<ReturnType<typeof createClaudeTranslator>['translateRecord']>[0]) =>
    createClaudeTranslator({ sessionId: 'ours' }).translateRecord(value)

  test('parses and translates a JSON line', () => {
    expect(record({ kind: 'json', value: assistant('m', text('hi')), bytes: 9, offset: 0 })).toMatchObject([
      { type: 'chat:message', text: 'hi' },
    ])
  })

  test('E81: keeps a line that is no JSON', () => {
    const broken = { text: '{"type":', bytes: 8, offset: 40, error: 'Unexpected end' }
    expect(record({ kind: 'malformed', ...broken })).toStrictEqual([
      {
        type: 'native:unknown',
        sessionId: 'ours',
        harness: 'claude-code',
        nativeType: 'malformed',
        raw: broken,
      },
    ])
  })

  test('E81: says where a line over the limit is', () => {
    expect(record({ kind: 'oversize', bytes: 99_000_000, offset: 12 })).toMatchObject([
      { type: 'native:unknown', nativeType: 'oversize', raw: { bytes: 99_000_000, offset: 12 } },
    ])
  })
})

test('end: what is open is closed once', () => {
  const translator = createClaudeTranslator({ sessionId: 'ours' })
  translator.translateRecord({ kind: 'json', value: textDelta('half'), bytes: 1, offset: 0 })
  expect(translator.end()).toMatchObject([{ type: 'chat:message', text: 'half', aborted: true }])
  expect(translator.end()).toStrictEqual([])
})
