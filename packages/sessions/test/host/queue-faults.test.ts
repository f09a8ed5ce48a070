import { randomUUID } from 'node:crypto'
import type { UIEvent } from '@chirality/core'
import { type FileOps, realFileOps } from '@chirality/disk'
import { afterEach, expect, test } from 'vitest'
import { SendQueue } from '../../src/host/send-queue.ts'
import { SteeredMessages } from '../../src/host/steered-messages.ts'
import { openSessionLog } from '../../src/log/open-logs.ts'
import type { SessionLog } from '../../src/log/session-log.ts'
import { MessageQueue } from '../../src/queue/message-queue.ts'
import { SessionRecorder } from '../../src/turns/record/session-recorder.ts'
import { useProject } from '../support/project.ts'

const project = useProject()
let log: SessionLog | undefined
afterEach(() => log?.close())

/** A queue on a disk that can become full, and whoever sends what is in it. */
async function open({ start }: { start: (message: string) => void }) {
  const sessionId = randomUUID()
  const disk = { isFull: false }
  const ops: FileOps = {
    ...realFileOps,
    rename: (from, to) => {
      if (disk.isFull) throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
      realFileOps.rename(from, to)
    },
  }
  const none = () => {}
  const queue = await MessageQueue.open({
    projectRoot: project.root,
    sessionId,
    ops,
    onChange: none,
    onRelease: none,
  })
  const events: UIEvent[] = []
  log = await openSessionLog(project.root, sessionId)
  const recorder = new SessionRecorder({
    log,
    onRecorded: envelopes => events.push(...envelopes.map(({ event }) => event)),
  })
  const steered = new SteeredMessages({ log, queue, recorder })
  const sending = new SendQueue({
    sessionId,
    queue,
    recorder,
    steered,
    isFree: () => true,
    start: async ({ message }) => start(message),
  })
  return { queue, sending, steered, disk, events }
}

test('a queue that cannot be written is reported, and its messages are sent when there is space', async () => {
  const sent: string[] = []
  const { queue, sending, disk, events } = await open({ start: message => sent.push(message) })
  await queue.add('one', {}, 'last')
  disk.isFull = true
  await sending.next()
  expect(sent).toEqual([])
  expect(events).toMatchObject([{ type: 'status', message: expect.stringContaining('was not sent') }])
  disk.isFull = false
  await sending.next()
  expect(sent).toEqual(['one'])
  expect(queue.list()).toEqual([])
})

test('a message whose turn has begun is not sent twice, and holds up no other, when the disk is full then', async () => {
  const sent: string[] = []
  const start = (message: string) => {
    sent.push(message)
    disk.isFull = sent.length === 1
  }
  const { queue, sending, disk } = await open({ start })
  await queue.add('one', {}, 'last')
  await queue.add('two', {}, 'last')
  await sending.next()
  disk.isFull = false
  await sending.next()
  expect(sent).toEqual(['one', 'two'])
  expect(queue.list()).toEqual([])
})

test('a steered message that was taken while the disk was full is not sent again', async () => {
  const { queue, sending, steered, disk } = await open({ start: () => {} })
  await steered.steer('now', {}, async () => true)
  disk.isFull = true
  const sessionId = log?.sessionId ?? ''
  const data = { kind: 'user_message', text: 'now' }
  steered.note({ type: 'status', sessionId, status: 'notice', level: 'info', message: 'now', data })
  await expect(steered.steer('more', {}, async () => true)).rejects.toMatchObject({ code: 'no-space' })
  disk.isFull = false
  await sending.after('interrupted')
  expect(queue.given).toEqual([])
  expect(queue.list()).toEqual([])
})
