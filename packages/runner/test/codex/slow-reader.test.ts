import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { fileAppears, ofType } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const MEGABYTE = 1024 * 1024

test('a slow reader misses no event, and waiting events are not kept in memory', async () => {
  const binaryPath = world.fake('fake-codex', 'floods')
  const harness = world.harness({ binaryPath, voice: 'app-server' })
  const events: UIEvent[] = []
  const before = usedBytes()
  for await (const event of harness.startTurn(world.session(), 'Talk')) {
    events.push(event.type === 'chat:delta' ? { ...event, text: event.text.slice(0, 8) } : event)
    if (events.filter(({ type }) => type === 'chat:delta').length !== 2) continue
    // 64 MB are printed and sorted by thread while nobody takes them.
    await fileAppears(`${binaryPath}.heard`)
    expect(usedBytes() - before).toBeLessThan(16 * MEGABYTE)
  }
  const [first, ...numbers] = ofType(events, 'chat:delta').map(({ text }) => text)
  expect(first).toBe('So far.')
  expect(numbers.map(text => Number.parseInt(text, 10))).toEqual(Array.from({ length: 1000 }, (_, n) => n))
  expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
})

/** Without what only waits to be collected. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
