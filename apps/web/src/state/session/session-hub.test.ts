import type { Envelope } from '@chirality/core'
import { expect, test } from 'vitest'
import { cannedClient } from '../../../test/support/canned-client.tsx'
import { SessionHub } from './session-hub.ts'

const envelope = (seq: number): Envelope => ({
  ...{ seq, at: '2026-01-01T00:00:00.000Z', sessionId: 's', turnId: 't' },
  event: { type: 'chat:message', sessionId: 's', messageId: `m${seq}`, text: `Message ${seq}` },
})

/** A server of which a test answers the call for the end of the log by hand. */
function heldServer() {
  const calls: string[] = []
  let answer: { resolve: (tail: Envelope[]) => void; reject: (error: Error) => void } | undefined
  const history = ({ before, limit, maxBytes }: { before?: number; limit: number; maxBytes: number }) => {
    calls.push(`tail ${before} ${limit} ${maxBytes}`)
    return new Promise<Envelope[]>((resolve, reject) => {
      answer = { resolve, reject }
    })
  }
  const live = {
    calls: cannedClient({ 'sessions.history': history }),
    followSession: (_id: string, after: number) => {
      calls.push(`watch ${after}`)
      return () => void calls.push('stop')
    },
  }
  const hub = new SessionHub(live, () => {})
  return { hub, calls, answer: () => answer }
}

const soon = () => new Promise(resolve => setTimeout(resolve, 0))

test('of a long log only the end is sent, and then what is new', async () => {
  const { hub, calls, answer } = heldServer()
  hub.follow('s', 1_000_000)
  await soon()
  expect(calls).toEqual(['tail undefined 400 250000'])
  answer()?.resolve([envelope(999_999), envelope(1_000_000)])
  await soon()
  expect(hub.store('s').get()).toMatchObject({ loaded: true, whole: false, state: { seq: 1_000_000 } })
  expect(calls.slice(1)).toEqual(['watch 1000000'])
})

test('a page before the end is sent when it is asked for, once, and as large as what is there', async () => {
  const { hub, calls, answer } = heldServer()
  hub.follow('s', 5000)
  answer()?.resolve(Array.from({ length: 600 }, (_, i) => envelope(4401 + i)))
  await soon()
  const store = hub.store('s')
  store.want('page')
  store.want('page')
  answer()?.resolve([envelope(4399), envelope(4400)])
  await soon()
  expect(calls.slice(2)).toEqual(['tail 4401 600 375000'])
  await expect.poll(() => store.firstSeq).toBe(4399)
  expect(store.get()).toMatchObject({ whole: false, state: { seq: 5000 } })
})

test('the whole is sent when a pane needs it, and the end stays until it is there', async () => {
  const { hub, calls, answer } = heldServer()
  hub.follow('s', 5000)
  answer()?.resolve([envelope(5000)])
  await soon()
  const store = hub.store('s')
  store.want('whole')
  store.want('page')
  expect(calls.slice(1)).toEqual(['watch 5000', 'stop', 'watch 0'])
  expect(store.get()).toMatchObject({ whole: false, state: { seq: 5000 } })
})

test('a log whose end cannot be had is read from its beginning', async () => {
  const { hub, calls, answer } = heldServer()
  hub.follow('s', 5000)
  answer()?.reject(new Error('away'))
  await soon()
  expect(calls.slice(1)).toEqual(['watch 0'])
})

test('who leaves before the end of the log is there is sent nothing more', async () => {
  const { hub, calls, answer } = heldServer()
  const leave = hub.follow('s', 5000)
  leave()
  answer()?.resolve([envelope(5000)])
  await soon()
  expect(calls).toEqual(['tail undefined 400 250000'])
})

test('a short log is read at once', () => {
  const { hub, calls } = heldServer()
  hub.follow('s', 2000)()
  expect(calls).toEqual(['watch 0', 'stop'])
})
