import type { Envelope } from '@chirality/core'
import { expect, test } from 'vitest'
import type { ServerApi } from '../server/server-api.ts'
import { SessionHub } from './session-hub.ts'

const envelope = (seq: number): Envelope => ({
  ...{ seq, at: '2026-01-01T00:00:00.000Z', sessionId: 's', turnId: 't' },
  event: { type: 'chat:message', sessionId: 's', messageId: `m${seq}`, text: `Message ${seq}` },
})

/** A server of which a test answers the call for the end of the log by hand. */
function heldServer() {
  const calls: string[] = []
  let answer: { resolve: (tail: Envelope[]) => void; reject: (error: Error) => void } | undefined
  const api = {
    readLogBefore: (_id: string, before: number | undefined, limit: number, maxBytes?: number) => {
      calls.push(`tail ${before} ${limit} ${maxBytes}`)
      return new Promise<Envelope[]>((resolve, reject) => {
        answer = { resolve, reject }
      })
    },
    watchSession: (_id: string, after: number) => {
      calls.push(`watch ${after}`)
      return () => calls.push('stop')
    },
  }
  const hub = new SessionHub(api as unknown as ServerApi, () => {})
  return { hub, calls, answer: () => answer }
}

const soon = () => new Promise(resolve => setTimeout(resolve, 0))

test('of a long log the end comes alone, and the rest when the end is shown', async () => {
  const { hub, calls, answer } = heldServer()
  hub.follow('s', 1_000_000)
  await soon()
  expect(calls).toEqual(['tail undefined 400 250000'])
  answer()?.resolve([envelope(999_999), envelope(1_000_000)])
  await soon()
  expect(hub.store('s').get()).toMatchObject({ loaded: true, whole: false, state: { seq: 1_000_000 } })
  expect(calls.slice(1)).toEqual(['watch 0'])
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
