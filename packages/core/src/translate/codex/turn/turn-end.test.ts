import { describe, expect, test } from 'vitest'
import {
  appError,
  appEvents,
  appMessage,
  appTurnCompleted,
  appTurnStarted,
  completed,
  error,
  itemCompleted,
  message,
  notification,
  only,
  textDelta,
  threadStarted,
  translateApp,
  translateExec,
  turnCompleted,
  turnFailed,
  turnStarted,
} from '../../../../test/support/codex-lines.ts'

const sessionId = 'ours'
const usage = {
  input_tokens: 75,
  output_tokens: 30,
  cache_read_input_tokens: 20,
  cache_creation_input_tokens: 5,
}
const nothing = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
}

describe('success', () => {
  test('C31: the last message, then what the turn used; the cost is not known', () => {
    const lines = [
      threadStarted(),
      turnStarted(),
      completed(message('one')),
      completed(message('two', 'item_1')),
    ]
    const { events, outcome } = translateExec([...lines, turnCompleted()])
    expect(events.slice(-2)).toStrictEqual([
      { type: 'chat:complete', sessionId, text: 'two' },
      { type: 'session:complete', sessionId, usage },
    ])
    expect(outcome).toStrictEqual({
      usage,
      nativeSessionId: 'thread-1',
      reason: 'completed',
      isError: false,
      finalText: 'two',
    })
  })

  test('C31: app-server also knows how long it took, and which turn a fork can be cut at', () => {
    const { events } = translateApp([appTurnStarted(), itemCompleted(appMessage('two')), appTurnCompleted()])
    expect(events.slice(-2)).toStrictEqual([
      { type: 'chat:complete', sessionId, text: 'two' },
      { type: 'session:complete', sessionId, usage: nothing, durationMs: 5, forkPoint: 'turn-1' },
    ])
  })

  test('C31: a turn without a word has an empty answer', () => {
    const { events } = translateExec([threadStarted(), turnCompleted()])
    expect(only(events, 'chat:complete')).toMatchObject([{ text: '' }])
  })

  test('C31: where the messages were missed, the turn itself repeats the last', () => {
    const end = appTurnCompleted({ items: [appMessage('seen later'), { type: 'plan' }] })
    expect(only(appEvents(end), 'chat:complete')).toMatchObject([{ text: 'seen later' }])
  })

  test('C34: with a schema the answer is parsed, if it can be', () => {
    const answer = (text: string) =>
      translateExec([threadStarted(), completed(message(text)), turnCompleted()], { expectsJson: true })
    expect(only(answer('{"a":1}').events, 'chat:complete')).toMatchObject([{ structuredOutput: { a: 1 } }])
    expect(answer('{"a":1}').outcome).toMatchObject({ structuredOutput: { a: 1 } })
    expect(only(answer('sorry').events, 'chat:complete')[0]).not.toHaveProperty('structuredOutput')
    const plain = translateExec([threadStarted(), completed(message('{}')), turnCompleted()])
    expect(plain.outcome).not.toHaveProperty('structuredOutput')
  })
})

describe('failure', () => {
  test('C32: one session:error, with a code and no answer', () => {
    const words = 'exceeded retry limit, last status: 429 Too Many Requests'
    const failure = {
      message: words,
      codexErrorInfo: { responseTooManyFailedAttempts: { httpStatusCode: 429 } },
    }
    const exec = translateExec([threadStarted(), completed(message('half')), turnFailed(words)])
    const app = translateApp([
      appTurnStarted(),
      itemCompleted(appMessage('half')),
      appTurnCompleted({ status: 'failed', error: failure, durationMs: undefined }),
    ])
    expect(exec.events.at(-1)).toStrictEqual({
      type: 'session:error',
      sessionId,
      error: words,
      code: 'rate_limited',
      apiStatus: 429,
      usage: nothing,
    })
    expect(app.events.at(-1)).toStrictEqual(exec.events.at(-1))
    expect(app.outcome).toStrictEqual(exec.outcome)
    expect(exec.outcome).toMatchObject({ reason: 'failed', isError: true, errorCode: 'rate_limited' })
    expect(only(exec.events, 'chat:complete')).toStrictEqual([])
  })

  test('C32: a failure that does not say why takes the words of the error before it', () => {
    const exec = translateExec([threadStarted(), error('Quota exceeded.'), turnFailed()])
    expect(exec.outcome).toMatchObject({ errorCode: 'billing', error: 'Quota exceeded.' })
    const info = { message: 'x', codexErrorInfo: 'unauthorized' }
    const app = translateApp([
      appTurnStarted(),
      appError(info, false),
      appTurnCompleted({ status: 'failed' }),
    ])
    expect(app.outcome).toMatchObject({ errorCode: 'auth_failed', error: 'x' })
    expect(translateExec([threadStarted(), turnFailed()]).outcome).toMatchObject({ errorCode: 'unknown' })
  })

  test('C32: a budget that is spent is its own reason', () => {
    const failure = { message: 'enough', codexErrorInfo: 'sessionBudgetExceeded' }
    const { outcome } = translateApp([
      appTurnStarted(),
      appTurnCompleted({ status: 'failed', error: failure }),
    ])
    expect(outcome).toMatchObject({ reason: 'budget', errorCode: 'budget_exceeded' })
  })

  test('C33: a turn that a person stopped', () => {
    const { events, outcome } = translateApp([
      appTurnStarted(),
      textDelta('half'),
      appTurnCompleted({ status: 'interrupted' }),
    ])
    expect(events.slice(-2)).toMatchObject([
      { type: 'chat:message', text: 'half', aborted: true },
      { type: 'session:error', code: 'interrupted', error: 'Interrupted by the user' },
    ])
    expect(outcome).toMatchObject({ reason: 'interrupted', isError: true })
  })

  test('C33: or that something else stopped, which it says', () => {
    const failure = { message: 'no', codexErrorInfo: 'misalignmentPolicyViolation' }
    const end = appTurnCompleted({ status: 'interrupted', error: failure })
    expect(translateApp([appTurnStarted(), end]).outcome).toMatchObject({
      reason: 'interrupted',
      errorCode: 'refused',
      error: 'no',
    })
  })

  test.each([{ status: 'retired' }, { status: 7 }, {}])('C83: a turn that ended as %j has ended', turn => {
    expect(translateApp([appTurnStarted(), notification('turn/completed', { turn })]).outcome).toMatchObject({
      reason: 'completed',
    })
    const failed = { ...turn, error: { message: 'x' } }
    expect(
      translateApp([appTurnStarted(), notification('turn/completed', { turn: failed })]).outcome,
    ).toMatchObject({ reason: 'failed' })
  })
})

describe('outcome', () => {
  test('C35: there is none before a turn ended, nor while the next one runs', () => {
    expect(translateExec([threadStarted(), turnStarted(), completed(message('x'))]).outcome).toBeNull()
    const lines = [appTurnStarted(), appTurnCompleted()]
    expect(translateApp(lines).outcome).not.toBeNull()
    expect(translateApp([...lines, appTurnStarted('turn-2')]).outcome).toBeNull()
  })
})

describe('the diff of a turn', () => {
  const diff = (text: string) => notification('turn/diff/updated', { diff: text })
  const two = 'diff --git a/x b/x\n+1\ndiff --git a/y b/y\n+2\n'

  test('C63: is told once, at the end, as it was last', () => {
    const events = appEvents(
      appTurnStarted(),
      diff('diff --git a/x b/x\n+1\n'),
      diff(two),
      appTurnCompleted(),
    )
    expect(only(events, 'status')).toMatchObject([
      {
        status: 'notice',
        level: 'info',
        message: 'Changed 2 files in this turn',
        data: { kind: 'turn_diff', diff: two },
      },
    ])
  })

  test('C63: changes that were undone leave nothing to tell', () => {
    const events = appEvents(appTurnStarted(), diff(two), diff(''), appTurnCompleted())
    expect(only(events, 'status')).toStrictEqual([])
  })
})
