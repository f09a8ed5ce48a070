import type { NdjsonRecord } from '@chirality/core'
import { expect, test } from 'vitest'
import { Inbox, type InboxItem } from './inbox.ts'

const item = (bytes: number): InboxItem => {
  const record: NdjsonRecord = { kind: 'json', value: {}, bytes, offset: 0 }
  return { kind: 'record', record, event: null }
}
const MEGABYTE = 1024 * 1024

test('a full one lets the writer wait until someone reads, or the agent is gone', async () => {
  const inbox = new Inbox()
  expect(inbox.push(item(MEGABYTE))).toBeUndefined()
  let isIn = false
  const second = inbox.push(item(1))?.then(() => {
    isIn = true
  })
  expect(second).toBeDefined()
  await Promise.resolve()
  expect(isIn).toBe(false)
  for await (const _ of inbox.read()) break
  await second
  expect(isIn).toBe(true)
  const third = inbox.push(item(MEGABYTE))
  inbox.openWide()
  await third
  await inbox.push(item(5 * MEGABYTE))
})

test('items that a reader did not take stay for the next reader', async () => {
  const inbox = new Inbox()
  for (const bytes of [1, 2, 3]) void inbox.push(item(bytes))
  inbox.end()
  const read: number[] = []
  const take = ({ record }: InboxItem & { kind: 'record' }) => read.push(record.bytes)
  for await (const next of inbox.read()) {
    take(next as InboxItem & { kind: 'record' })
    break
  }
  for await (const next of inbox.read()) take(next as InboxItem & { kind: 'record' })
  expect(read).toEqual([1, 2, 3])
})
