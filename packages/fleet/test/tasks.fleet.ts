import { expect, test } from 'vitest'
import { startCluster } from './support/cluster.ts'
import { connect, joined, later } from './support/fleet.ts'
import { whenItWorks } from './support/nats.ts'
import { LONG_MS, runTasks } from './tasks/chaos.ts'

const TASKS = Number(process.env.CHIRALITY_TASKS ?? 200)
const SEED = Number(process.env.CHIRALITY_SEED ?? Date.now() % 1e6)

async function threeAndThree() {
  const cluster = await startCluster()
  const hub = await connect(cluster.hub)
  await whenItWorks(() => hub.prepare())
  const workers: Record<string, string> = {}
  for (const name of ['one', 'two', 'three']) workers[name] = (await joined(cluster, hub, name)).home
  const timers = new Set<NodeJS.Timeout>()
  later(() => timers.forEach(clearTimeout))
  const killBroker = async (random: () => number) => {
    if (cluster.running().length < 3) return false
    const at = Math.floor(random() * 3)
    await cluster.kill(at)
    timers.add(setTimeout(() => cluster.start(at), 500 + random() * 2_500))
    return true
  }
  return { hub: cluster.home, workers, killBroker }
}

test(`${TASKS} tasks over three workers and three brokers that are killed at random: none is lost, none is run twice`, {
  timeout: LONG_MS,
}, async () => {
  const fleet = await threeAndThree()
  const report = await runTasks({
    ...fleet,
    tasks: TASKS,
    seed: SEED,
    marksBetweenKills: 12,
    gone: 0,
    goneMs: LONG_MS,
  })
  console.log(`seed ${SEED}: ${JSON.stringify(report)}`)
  expect({ seed: SEED, ...report }).toMatchObject({
    seed: SEED,
    lost: [],
    twice: [],
    again: [],
    doubled: [],
    left: 0,
  })
  expect(Object.values(report.kills).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0)
})

test('tasks of machines that do not come back in time are begun anew elsewhere, and what returns runs nothing of them', {
  timeout: LONG_MS,
}, async () => {
  const fleet = await threeAndThree()
  const report = await runTasks({
    ...fleet,
    tasks: 60,
    seed: SEED,
    marksBetweenKills: 20,
    gone: 2,
    goneMs: 20_000,
  })
  console.log(`seed ${SEED}: ${JSON.stringify(report)}`)
  expect({ seed: SEED, ...report }).toMatchObject({ seed: SEED, lost: [], twice: [], doubled: [], left: 0 })
  expect(report.kills.gone).toBe(2)
})
