import { describe, expect, test } from 'vitest'
import {
  appMessage,
  appThreadStarted,
  appTurnCompleted,
  appTurnStarted,
  completed,
  itemCompleted,
  message,
  run,
  SESSION,
  threadStarted,
  translateApp,
  translateExec,
  turnCompleted,
} from '../../../test/support/codex-lines.ts'
import { createCodexTranslator } from './voice.ts'

const execLines = [threadStarted(), completed(message('x')), turnCompleted()]
const appLines = [appThreadStarted(), appTurnStarted(), itemCompleted(appMessage('x')), appTurnCompleted()]

describe('C5: the first line says which voice a spool has', () => {
  test('C5: exec', () => {
    expect(run(createCodexTranslator({ sessionId: SESSION }), execLines)).toStrictEqual(
      translateExec(execLines, { turnId: undefined }),
    )
  })

  test('C5: app-server', () => {
    expect(run(createCodexTranslator({ sessionId: SESSION }), appLines)).toStrictEqual(
      translateApp(appLines, { threadId: undefined }),
    )
  })

  test('C5: an unknown event does not decide it', () => {
    const translated = run(createCodexTranslator({ sessionId: SESSION }), [{ type: 'new' }, ...appLines])
    expect(translated.events[0]).toMatchObject({ type: 'native:unknown', nativeType: 'new' })
    expect(translated.outcome).toMatchObject({ reason: 'completed' })
    expect(run(createCodexTranslator({ sessionId: SESSION }), [])).toMatchObject({
      events: [],
      outcome: null,
      nativeSessionId: null,
    })
  })
})

test('C81: a line that is no JSON, or too long, is told with its place in the spool', () => {
  const translator = createCodexTranslator({ sessionId: SESSION })
  const records = [
    { kind: 'malformed', text: '{', bytes: 1, offset: 0, error: 'broken' },
    { kind: 'json', value: threadStarted(), bytes: 1, offset: 2 },
    { kind: 'oversize', bytes: 99, offset: 3 },
  ] as const
  expect(records.flatMap(record => translator.translateRecord(record))).toMatchObject([
    { type: 'native:unknown', nativeType: 'malformed', raw: { text: '{', bytes: 1, offset: 0 } },
    { type: 'session:init' },
    { type: 'native:unknown', nativeType: 'oversize', raw: { bytes: 99, offset: 3 } },
  ])
})
