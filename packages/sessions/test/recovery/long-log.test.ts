import { mkdirSync, writeFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { SessionLog } from '../../src/log/session-log.ts'
import { useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()

const EVENTS = 40_960
const PAGE = 512

test('a long unread log is read in slices, and other work runs between them', async () => {
  const first = world.host([])
  const { id } = await first.createSession(world.project, { harness: 'scripted' })
  await first.close()
  const at = '2026-01-01T00:00:00.000Z'
  const event = (seq: number) =>
    seq === 1
      ? { type: 'turn:start', sessionId: id, message: 'Go on for long' }
      : { type: 'chat:message', sessionId: id, messageId: `m${seq}`, text: `${seq}` }
  const lines = Array.from({ length: EVENTS }, (_, i) =>
    JSON.stringify({ seq: i + 1, at, sessionId: id, turnId: 'turn-1', event: event(i + 1) }),
  )
  mkdirSync(world.file('events'), { recursive: true, mode: 0o700 })
  writeFileSync(world.file('events', `${id}.ndjson`), `${lines.join('\n')}\n`, { mode: 0o600 })

  // How much is read until somebody else gets a turn of the event loop.
  let total = 0
  let atOnce = 0
  let mostAtOnce = 0
  for (const method of ['readAfter', 'readBefore'] as const) {
    const read = SessionLog.prototype[method]
    vi.spyOn(SessionLog.prototype, method).mockImplementation(function (this: SessionLog, ...args) {
      const page = read.apply(this, args)
      if (atOnce === 0)
        setImmediate(() => {
          atOnce = 0
        })
      total += page.length
      atOnce += page.length
      mostAtOnce = Math.max(mostAtOnce, atOnce)
      return page
    })
  }
  const host = world.host([])
  await host.openProject(world.project)
  const session = await host.session(id)
  vi.restoreAllMocks()
  // The tail is folded and the last turn is searched for, each over the whole log.
  expect(total).toBeGreaterThanOrEqual(2 * EVENTS)
  expect(mostAtOnce).toBeLessThanOrEqual(2 * PAGE)
  expect(session.log.lastSeq).toBe(EVENTS + 2)
  expect(session.log.readLast(2).map(({ event: { type } }) => type)).toEqual(['session:error', 'turn:end'])
})
