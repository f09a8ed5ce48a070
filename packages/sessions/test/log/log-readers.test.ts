import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Envelope } from '@chirality/core'
import { expect, test } from 'vitest'
import { openSessionLog } from '../../src/log/open-logs.ts'
import type { SessionLog } from '../../src/log/session-log.ts'
import { delta, numbered, range, SESSION, seeded, TURN } from '../support/events.ts'
import { useProject } from '../support/project.ts'

const project = useProject()

/** Gives way to others a random number of times: an order of events that no clock decides. */
async function dawdle(random: (below: number) => number): Promise<void> {
  for (let times = random(4); times > 0; times -= 1) await new Promise(resolve => setImmediate(resolve))
}

test('readers that come and go at any time see every number once, in order', {
  timeout: 120_000,
}, async () => {
  for (const seed of range(1, 12)) {
    const random = seeded(seed)
    const log = await openSessionLog(project.root, `${SESSION}-${seed}`)

    /** Leaves now and then, and comes back with the cursor it had. */
    const read = async (id: number) => {
      const seen: Envelope[] = []
      const mine = seeded(1000 * seed + id)
      const cursor = () => seen.at(-1)?.seq ?? 0
      while (cursor() < 600) {
        for await (const batch of log.subscribe(cursor())) {
          seen.push(...batch)
          await dawdle(mine)
          if (mine(20) === 0 || cursor() >= 600) break
        }
      }
      return seen
    }

    const readers = range(0, 7).map(id => read(id))
    while (log.lastSeq < 650) {
      for (let burst = random(40); burst > 0; burst -= 1) {
        if (random(3) === 0)
          log.appendAll(
            range(1, 3).map(() => delta('word ', `m${random(2)}`)),
            TURN,
          )
        else
          log.append(numbered(burst, 'x'.repeat(random(3) === 0 ? 3000 : 10)), {
            ...TURN,
            durable: random(9) === 0,
          })
      }
      await dawdle(random)
    }
    for (const seen of await Promise.all(readers)) {
      const truth = log.readAfter(0, seen.length, { maxBytes: Number.POSITIVE_INFINITY })
      expect(seen.map(({ seq }) => seq)).toEqual(range(1, seen.length))
      expect(seen).toEqual(truth)
    }
    await log.close()
  }
})

test('joined pieces give the same text as single ones', async () => {
  const pieces = range(1, 300).map(n => delta(`${n} `, n % 10 === 5 ? 'other' : `m${Math.floor(n / 10)}`))
  const transcript = async (name: string, write: (log: SessionLog) => void) => {
    const log = await openSessionLog(project.root, `${SESSION}-${name}`)
    write(log)
    await log.flush()
    const envelopes = log.readAfter(0, 9999)
    await log.close()
    const texts = new Map<string, string>()
    for (const { event } of envelopes) {
      if (event.type !== 'chat:delta') continue
      texts.set(event.messageId ?? '', (texts.get(event.messageId ?? '') ?? '') + event.text)
    }
    return { count: envelopes.length, texts }
  }
  const single = await transcript('single', log => pieces.map(piece => log.append(piece, TURN)))
  const joined = await transcript('joined', log => log.appendAll(pieces, TURN))
  expect(joined.texts).toEqual(single.texts)
  expect(single.count).toBe(300)
  expect(joined.count).toBeLessThan(200)
})

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

test('a reader that never takes anything costs no memory', async () => {
  const log = await openSessionLog(project.root, SESSION)
  const reader = log.subscribe(0)
  const text = 'x'.repeat(10_000)
  for (const n of range(1, 100)) log.append(numbered(n, text), TURN)
  await log.flush()
  const before = heapAfterCollection()
  for (const n of range(101, 10_000)) log.append(numbered(n, text), TURN)
  await log.flush()
  // 100 MB went through the log; what is held for readers that keep up is about 1 MB.
  expect(heapAfterCollection() - before).toBeLessThan(8_000_000)
  await reader.return?.()
  await log.close()
})
