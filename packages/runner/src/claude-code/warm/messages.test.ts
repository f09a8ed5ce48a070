import { type ClaudeEvent, parseClaudeEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { Messages } from './messages.ts'

const event = (value: object): ClaudeEvent => parseClaudeEvent(value)
const taken = (uuid: string) => event({ type: 'user', isReplay: true, uuid, message: { content: 'x' } })
const result = (fields = {}) => event({ type: 'result', ...fields })
const NEWS = { origin: { kind: 'task-notification' } }

/** The messages that are unanswered after each step. */
test.each<[string, (string | ClaudeEvent)[], string[], boolean]>([
  ['one message, one result', ['a', taken('a'), result()], [], true],
  ['two in one result', ['a', taken('a'), 'b', taken('b'), result()], [], true],
  ['two results', ['a', taken('a'), 'b', result(), taken('b'), result()], [], true],
  ['the second still waits', ['a', taken('a'), 'b', result()], ['b'], false],
  ['a result names its messages', ['a', 'b', result({ user_message_uuids: ['a', 'b'] })], [], true],
  ['a command that is not taken up is answered all the same', ['a', result()], [], true],
  ['the oldest first', ['a', 'b', result()], ['b'], false],
  ['news of a task answer nobody', ['a', result(NEWS)], ['a'], false],
  ['a stranger is no message', ['a', taken('x'), result(NEWS)], ['a'], false],
])('%s', (_name, steps, waiting, areAnswered) => {
  const messages = new Messages()
  for (const step of steps) {
    if (typeof step === 'string') messages.sent(step)
    else messages.see(step)
  }
  expect(messages.waiting).toEqual(waiting)
  expect(messages.areAnswered).toBe(areAnswered)
})

test('one that is taken back is not waited for', () => {
  const messages = new Messages()
  messages.sent('a')
  messages.withdrawn('a')
  expect(messages.areAnswered).toBe(true)
})

test('a message is told to be read once: when it is repeated, or by the result that answers it', () => {
  const messages = new Messages()
  for (const uuid of ['a', 'b', 'c']) messages.sent(uuid)
  expect(messages.see(taken('a'))).toEqual(['a'])
  expect(messages.see(taken('a'))).toEqual([])
  expect(messages.see(result({ user_message_uuids: ['a', 'b'] }))).toEqual(['b'])
  expect(messages.areAllWaiting).toBe(true)
  expect(messages.see(result())).toEqual(['c'])
  expect(messages.areAllWaiting).toBe(false)
})
