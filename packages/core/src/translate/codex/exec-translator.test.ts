import { describe, expect, test } from 'vitest'
import {
  completed,
  execEvents,
  message,
  notification,
  only,
  threadStarted,
  translateExec,
  turnCompleted,
  turnStarted,
} from '../../../test/support/codex-lines.ts'

describe('ids', () => {
  const turn = [threadStarted(), turnStarted(), completed(message('x')), turnCompleted()]
  const ids = (lines: unknown[], options = {}) =>
    only(translateExec(lines, options).events, 'chat:message').map(event => event.messageId)

  test("C3: begin with the turn's, because the CLI counts from item_0 in every process", () => {
    expect(ids(turn, { turnId: 'a' })).toStrictEqual(['a:item_0'])
    expect(ids(turn, { turnId: 'b' })).toStrictEqual(['b:item_0'])
  })

  test('C3: several turns in one spool have their own', () => {
    expect(ids([...turn, ...turn])).toStrictEqual(['turn-1:item_0', 'turn-1.2:item_0'])
  })

  test('C3: without a turn id the thread id is used', () => {
    expect(ids(turn, { turnId: undefined })).toStrictEqual(['thread-1:item_0'])
  })

  test('C3: a spool that is read from the middle has the bare ids', () => {
    expect(ids([completed(message('x'))])).toStrictEqual(['item_0'])
  })
})

describe('drift', () => {
  test('C80: a new type, and a line of the other voice, are kept whole', () => {
    const line = { type: 'turn.paused' }
    expect(execEvents(line)).toStrictEqual([
      { type: 'native:unknown', sessionId: 'ours', harness: 'codex', nativeType: 'turn.paused', raw: line },
    ])
    expect(execEvents(notification('turn/started'), { id: 1, result: {} })).toMatchObject([
      { nativeType: 'turn/started' },
      { nativeType: 'response' },
    ])
  })
})
