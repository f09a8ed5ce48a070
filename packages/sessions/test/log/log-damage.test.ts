import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { realFileOps } from '@chirality/disk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSessionLog } from '../../src/log/open-logs.ts'
import { DamageLab, trial } from '../support/damage.ts'
import { numbered, numbersIn, range, SESSION, seeded, TURN } from '../support/events.ts'
import { useProject } from '../support/project.ts'

/** `npm run test:all` takes every prefix with each state of the sidecar; else they take turns. */
const THOROUGH = Boolean(process.env.CHIRALITY_TEST_ALL)
const INJURIES = THOROUGH ? 10_000 : 2_000
const SIDECARS = ['kept', 'missing', 'damaged'] as const

describe('any damage to the bytes', () => {
  let lab: DamageLab
  beforeAll(async () => {
    lab = await DamageLab.create(30)
  })
  afterAll(() => lab.remove())

  test('every prefix of a log opens, with every line that is whole', { timeout: 300_000 }, async () => {
    const short = await DamageLab.create(8)
    const random = seeded(1)
    for (let length = 0; length <= short.bytes.length; length += 1) {
      for (const sidecar of THOROUGH ? SIDECARS : SIDECARS.slice(length % 3, (length % 3) + 1)) {
        const problems = await short.problems(short.bytes.subarray(0, length), sidecar, {
          random,
          inPlace: false,
        })
        expect({ length, sidecar, problems }).toEqual({ length, sidecar, problems: [] })
      }
    }
    short.remove()
  })

  test(`${INJURIES} random injuries lose no good line`, { timeout: 300_000 }, async () => {
    for (let seed = 0; seed < INJURIES; seed += 1) {
      expect({ seed, problems: await trial(lab, seed) }).toEqual({ seed, problems: [] })
    }
  })
})

describe('repairs', () => {
  const project = useProject()
  const path = () => project.file('events', `${SESSION}.ndjson`)
  const open = () => openSessionLog(project.root, SESSION)

  async function logOf(count: number): Promise<string[]> {
    const log = await open()
    for (const n of range(1, count)) log.append(numbered(n), TURN)
    await log.close()
    return readFileSync(path(), 'utf8').split('\n').slice(0, -1)
  }

  test('a torn last line of any length lets others work while it is kept aside', async () => {
    await logOf(1)
    truncateSync(path(), 16 * 1024 * 1024)
    let turns = 0
    let next = setImmediate(function count() {
      turns += 1
      next = setImmediate(count)
    })
    const copied: number[] = []
    const write: typeof realFileOps.write = (...args) => {
      copied.push(turns)
      return realFileOps.write(...args)
    }
    const log = await openSessionLog(project.root, SESSION, { ops: { ...realFileOps, write } })
    clearImmediate(next)
    await log.close()
    expect(copied.length).toBeGreaterThan(15)
    expect(new Set(copied).size).toBeGreaterThan(15)
  })

  test('a torn last line is kept aside, told in its place, and the log goes on', async () => {
    const lines = await logOf(5)
    writeFileSync(path(), `${lines.slice(0, 4).join('\n')}\n{"seq":5,"at":"20`)
    writeFileSync(project.file('events', `${SESSION}.idx`), '')
    const log = await open()
    const torn = project.file('events', `${SESSION}.torn-1`)
    expect(readFileSync(torn, 'utf8')).toBe('{"seq":5,"at":"20')
    expect(log.append(numbered(6), TURN)?.seq).toBe(6)
    await log.flush()
    expect(log.readAfter(3, 10)).toMatchObject([
      { seq: 4 },
      { seq: 5, event: { type: 'log:gap', afterSeq: 4, missing: 1, reason: expect.stringContaining(torn) } },
      { seq: 6 },
    ])
    await log.close()
  })

  test('a last line that only lacks its newline is good', async () => {
    const lines = await logOf(3)
    writeFileSync(path(), lines.join('\n'))
    const log = await open()
    log.append(numbered(4), TURN)
    await log.flush()
    expect(numbersIn(log.readAfter(0, 10))).toEqual([1, 2, 3, 4])
    expect(readdirSync(project.file('events'))).toHaveLength(2)
    await log.close()
  })

  test('an altered letter is found by its checksum, and later lines are read', async () => {
    await logOf(30)
    const bytes = readFileSync(path())
    bytes[bytes.indexOf('"n":7}') + 4] = '8'.charCodeAt(0)
    writeFileSync(path(), bytes)
    const log = await open()
    const envelopes = log.readAfter(0, 100)
    expect(numbersIn(envelopes)).toEqual([...range(1, 6), ...range(8, 30)])
    expect(envelopes[6]).toMatchObject({ seq: 7, event: { type: 'log:gap', afterSeq: 6, missing: 1 } })
    await log.close()
  })

  test('without the sidecar the log reads the same', async () => {
    await logOf(1500)
    for (const sidecar of ['', 'rubbish'.repeat(2000)]) {
      writeFileSync(project.file('events', `${SESSION}.idx`), sidecar)
      const log = await open()
      expect(numbersIn(log.readLast(3))).toEqual([1498, 1499, 1500])
      expect(numbersIn(log.readAfter(700, 2))).toEqual([701, 702])
      await log.close()
    }
  })

  test('a sidecar that breaks in the middle is made anew when that part is needed', async () => {
    await logOf(2000)
    const file = project.file('events', `${SESSION}.idx`)
    const index = readFileSync(file)
    index[5000] = (index[5000] ?? 0) ^ 1
    writeFileSync(file, index)
    const log = await open()
    expect(numbersIn(log.readLast(2))).toEqual([1999, 2000])
    expect(numbersIn(log.readAfter(600, 2))).toEqual([601, 602])
    log.append(numbered(2001), TURN)
    await log.close()
    const again = await open()
    expect(numbersIn(again.readLast(9999))).toEqual(range(1, 2001))
    await again.close()
  })

  test('a log that was cut short while closed does not use its numbers twice', async () => {
    const lines = await logOf(20)
    writeFileSync(path(), `${lines.slice(0, 10).join('\n')}\n`)
    const log = await open()
    expect(log.append(numbered(21), TURN)?.seq).toBe(21)
    await log.flush()
    const envelopes = log.readAfter(9, 100)
    expect(envelopes.map(({ seq, event }) => [seq, event.type])).toEqual([
      [10, 'status'],
      [20, 'log:gap'],
      [21, 'status'],
    ])
    await log.close()
  })

  test('lines in another hand, with spaces and another order, are read', async () => {
    const lines = await logOf(3)
    const rewritten = lines.map(line => {
      const { event, ...rest } = JSON.parse(line)
      return JSON.stringify({ event, ...rest }, null, ' ').replaceAll('\n', '')
    })
    writeFileSync(path(), `${rewritten.join('\n')}\n`)
    const log = await open()
    expect(numbersIn(log.readAfter(0, 10))).toEqual([1, 2, 3])
    await log.close()
  })
})
