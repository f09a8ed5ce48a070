import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { RememberedAnswers } from './remembered-answers.ts'

test('a call that runs is kept however many come after it, and is done once', async () => {
  const answers = new RememberedAnswers({ count: 2 })
  let end: (answer: Buffer) => void = () => {}
  let times = 0
  const slow = () => {
    times += 1
    return new Promise<Buffer>(resolve => {
      end = resolve
    })
  }
  const first = answers.once('slow', slow)
  for (const id of ['a', 'b', 'c', 'd']) await answers.once(id, async () => Buffer.from(id))
  await turn()
  expect(['a', 'b', 'c', 'd'].filter(id => answers.get(id) !== undefined)).toEqual(['c', 'd'])
  const again = answers.once('slow', slow)
  end(Buffer.from('done'))
  expect([(await first).toString(), (await again).toString(), times]).toEqual(['done', 'done', 1])
})

test('answers that are over go when all are too large, the oldest first, and after their time', async () => {
  const answers = new RememberedAnswers({ bytes: 100, ms: 1 })
  const kept = new RememberedAnswers({ bytes: 100 })
  for (const id of ['a', 'b', 'c']) {
    await answers.once(id, async () => Buffer.alloc(10))
    await kept.once(id, async () => Buffer.alloc(45))
  }
  await turn()
  expect(['a', 'b', 'c'].filter(id => kept.get(id) !== undefined)).toEqual(['b', 'c'])
  await kept.once('large', async () => Buffer.alloc(1_000))
  await turn()
  expect(['b', 'c', 'large'].filter(id => kept.get(id) !== undefined)).toEqual(['large'])
  await expect.poll(() => ['a', 'b', 'c'].some(id => answers.get(id) !== undefined)).toBe(false)
})
