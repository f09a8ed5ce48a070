import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { SessionStore } from '@chirality/sessions'
import { expect, onTestFinished, test } from 'vitest'
import type { FleetService } from '../machines.ts'
import { forwarded } from './forward.ts'

/** A fleet with one session, whose machine answers every call with this. */
async function answering(answer: unknown) {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-forward-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const store = new SessionStore({ home: folder })
  const session = await store.create(folder, null, 'direct')
  const made: unknown[] = []
  const fleet: Pick<FleetService, 'session' | 'call' | 'made'> = {
    session: () => ({ machine: 'liar', session, status: null }),
    call: async () => answer,
    made: async (_, one) => {
      made.push(one)
      return session
    },
  }
  const call = (name: string) =>
    forwarded(fleet as FleetService, { path: name, input: { sessionId: session.id } })
  return { call, made }
}

test.each([
  ['review.commit', { commit: 'not-a-list', files: 'a.txt' }],
  ['review.push', { kind: 'forward', pullRequest: { kind: 'opened', url: 7 } }],
  ['review.state', 'nonsense'],
  ['sessions.fork', { id: '../elsewhere' }],
  ['files.diff', { files: [{}] }],
  ['turns.send', null],
])(
  'an answer to %s that is not as the contract says is refused, and makes no session',
  async (name, answer) => {
    const { call, made } = await answering(answer)
    await expect(call(name)).rejects.toMatchObject({
      code: 'machine-silent',
      message: expect.stringContaining('What the machine liar answered is not understood here'),
    })
    expect(made).toEqual([])
  },
)

test('an answer of a newer machine that says more is taken', async () => {
  const answer = { files: ['a.txt'], more: true }
  const { call } = await answering(answer)
  expect(await call('review.resolve')).toEqual({ data: answer })
})

test('what is not on the list is not asked of another machine', async () => {
  const { call } = await answering({})
  await expect(call('system.endProcess')).rejects.toMatchObject({ code: 'unsupported' })
})
