import { describe, expect, test } from 'vitest'
import {
  appError,
  appEvents,
  appMessage,
  appTurnCompleted,
  appTurnStarted,
  completed,
  error,
  execEvents,
  itemCompleted,
  message,
  only,
  threadStarted,
  turnCompleted,
  turnFailed,
} from '../../../../test/support/codex-lines.ts'

const why = 'unexpected status 401 Unauthorized: no key, url: http://127.0.0.1/v1 (x)'

describe('C30: an error that is tried again', () => {
  test('C30: is a status, the same in both voices', () => {
    const exec = only(execEvents(threadStarted(), error(`Reconnecting... 2/5 (${why})`)), 'status')
    const app = only(
      appEvents(appTurnStarted(), appError({ message: 'Reconnecting... 2/5', additionalDetails: why }, true)),
      'status',
    )
    expect(exec).toStrictEqual(app)
    expect(exec).toStrictEqual([
      {
        type: 'status',
        sessionId: 'ours',
        status: 'retrying',
        message: `${why}, retry 2 of 5`,
        level: 'warn',
        data: { attempt: 2, maxRetries: 5, apiStatus: 401, error: why },
      },
    ])
  })

  test('C30: while the network is down it is told once, and again after something else came', () => {
    const waiting = error('Reconnecting... waiting for network (Connection failed: error sending request)')
    const events = execEvents(threadStarted(), waiting, waiting, waiting, completed(message('back')), waiting)
    const words = 'Connection failed: error sending request, waiting for network'
    expect(only(events, 'status').map(event => event.message)).toStrictEqual([words, words])
  })

  test.each([
    ['Reconnecting...', 'Reconnecting...'],
    ['Reconnecting... 1/5', 'Reconnecting... 1/5'],
    ['Reconnecting... 1/5 (cut', 'cut, retry 1 of 5'],
  ])('C30: %j reads %j', (native, words) => {
    expect(only(execEvents(threadStarted(), error(native)), 'status')).toMatchObject([
      { status: 'retrying', message: words },
    ])
  })

  test('C30: app-server says so itself, whatever the words', () => {
    const events = appEvents(appTurnStarted(), appError({ message: 'One moment' }, true))
    expect(only(events, 'status')).toMatchObject([{ status: 'retrying', message: 'One moment' }])
    const words = appEvents(appTurnStarted(), appError({ message: 'Reconnecting... 1/5' }, false))
    expect(only(words, 'status').map(event => event.status)).toStrictEqual(['notice'])
  })
})

describe('C30: an error that is not tried again', () => {
  test('C30: is not told twice when the turn fails by it', () => {
    const exec = execEvents(threadStarted(), error('bad model'), turnFailed('bad model'))
    expect(exec.slice(1).map(event => event.type)).toStrictEqual(['session:error'])
    const failure = { message: 'bad model', codexErrorInfo: 'badRequest' }
    const app = appEvents(
      appTurnStarted(),
      appError(failure, false),
      appTurnCompleted({ status: 'failed', error: failure }),
    )
    expect(app.slice(1).map(event => event.type)).toStrictEqual(['session:error'])
  })

  test('C30: is a notice when the turn got over it', () => {
    const notice = {
      type: 'status',
      status: 'notice',
      level: 'error',
      message: 'odd',
      data: { kind: 'error' },
    }
    const exec = execEvents(threadStarted(), error('odd'), completed(message('ok')), turnCompleted())
    expect(exec.slice(2)).toMatchObject([notice, { type: 'chat:complete' }, { type: 'session:complete' }])
    const app = appEvents(
      appTurnStarted(),
      appError({ message: 'odd' }, false),
      itemCompleted(appMessage('ok')),
      appTurnCompleted(),
    )
    expect(app.slice(2)).toMatchObject([notice, { type: 'chat:complete' }, { type: 'session:complete' }])
  })

  test('C30: a second one, the end of the output, or a place between turns tells it too', () => {
    const second = execEvents(threadStarted(), error('one'), error('two'))
    expect(only(second, 'status').map(event => event.message)).toStrictEqual(['one', 'two'])
    const between = appEvents(
      appTurnStarted(),
      appTurnCompleted(),
      appError({ message: 'late', additionalDetails: 'why' }, false),
    )
    expect(between.at(-1)).toMatchObject({ status: 'notice', message: 'late (why)' })
  })
})
