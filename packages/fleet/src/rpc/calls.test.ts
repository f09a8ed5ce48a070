import { expect, test } from 'vitest'
import type { Link } from '../engine/link.ts'
import { askWork, callMachine } from './calls.ts'

/** A connection to a machine that answers everything with these words. */
function saying(words: string): Link {
  return {
    connected: true,
    request: async () => ({ kind: 'answer', body: Buffer.from(words) }),
  } as unknown as Link
}

test.each(['', 'null', '7', '{}', '{"ok":', '[]', '{"ok":false,"code":7}', '{"working":true}'])(
  'an answer that is nonsense, %s, does not say that nothing was done',
  async words => {
    await expect(callMachine(saying(words), 'liar', { path: 'turns.send', input: {} })).rejects.toMatchObject(
      { code: 'machine-silent', message: expect.stringContaining('liar answered nonsense. It may have') },
    )
    await expect(askWork(saying(words), 'liar', { step: 'state', id: 'w' } as never)).rejects.toMatchObject({
      code: expect.stringMatching(/^(work-failed|machine-silent)$/),
    })
  },
)

test('an answer without data is taken', async () => {
  expect(await callMachine(saying('{"ok":true}'), 'other', { path: 'turns.kill', input: {} })).toBeUndefined()
})
