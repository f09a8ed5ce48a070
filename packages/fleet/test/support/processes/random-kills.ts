import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { logPath } from '../../../src/ship/shipper.ts'
import { later } from '../fleet.ts'
import { seeded } from '../seeded.ts'
import { type MachineProcess, ProcessFleet } from './process-fleet.ts'

const SESSIONS = 4
/** Long enough for every run; its turns end with their machine. */
const SPEECH = { perSecond: 40, seconds: 3_600 }

/**
 * A worker whose agents speak without a pause, a hub and the broker are killed in a random order. At the end each log on the
 * hub is that of the worker, byte for byte.
 */
export async function randomKills({ kills, seed }: { kills: number; seed: number }): Promise<void> {
  console.log(`seed ${seed}`)
  const random = seeded(seed)
  const fleet = await ProcessFleet.start()
  later(() => fleet.close())
  let worker = await fleet.machine('worker')
  const { sessionIds = [] } = await worker.send({ do: 'create', sessions: SESSIONS })
  const speak = (machine: MachineProcess) => machine.send({ do: 'speak', ...SPEECH }).catch(() => {})
  void speak(worker)
  const killed = { worker: 0, hub: 0, broker: 0 }
  for (let kill = 0; kill < kills; kill += 1) {
    await sleep(random() * 300)
    const chance = random()
    const victim = chance < 0.4 ? 'worker' : chance < 0.65 ? 'hub' : 'broker'
    killed[victim] += 1
    // Now and then the broker goes with one of the others.
    if (victim === 'broker' || random() < 0.2) await fleet.killBroker()
    if (victim === 'worker') {
      await worker.kill()
      worker = await fleet.start('worker')
      void speak(worker)
    }
    if (victim === 'hub') {
      await fleet.hub.kill()
      await fleet.startHub()
    }
  }
  console.log(`killed ${JSON.stringify(killed)}`)
  await worker.kill()
  worker = await fleet.start('worker')
  const files = sessionIds.map(id => ({
    own: logPath(worker.project, id),
    mirrored: logPath(join(fleet.hub.home, 'fleet', 'mirrors', 'worker'), id),
  }))
  for (const { own, mirrored } of files) {
    const numbers = read(own)
      .trimEnd()
      .split('\n')
      .map(line => (JSON.parse(line) as { seq: number }).seq)
    expect(numbers).toEqual(numbers.map((_, at) => at + 1))
    expect(numbers.length).toBeGreaterThan(2)
    await expect.poll(() => read(mirrored) === read(own), { timeout: 110_000, interval: 200 }).toBe(true)
  }
  // Nothing was taken for a log that was written anew.
  const mirror = join(fleet.hub.home, 'fleet', 'mirrors', 'worker')
  expect(readdirSync(mirror)).not.toContain('replaced')
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
