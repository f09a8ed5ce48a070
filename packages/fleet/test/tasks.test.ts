import { expect, test } from 'vitest'
import { brokerPid } from '../src/engine/broker-process.ts'
import { connect, joined, startFleet } from './support/fleet.ts'
import { LONG_MS, runTasks } from './tasks/chaos.ts'

test('12 tasks over three workers while these, the hub and the broker are killed at random: none is lost, none is run twice', {
  timeout: LONG_MS,
}, async () => {
  const seed = Date.now() % 1e6
  const fleet = await startFleet()
  const hub = await connect(fleet.hub)
  await hub.prepare()
  const workers: Record<string, string> = {}
  for (const name of ['one', 'two', 'three']) workers[name] = (await joined(fleet, hub, name)).home
  const report = await runTasks({
    tasks: 12,
    seed,
    hub: fleet.home,
    workers,
    marksBetweenKills: 5,
    gone: 0,
    // A worker that a slow machine starts slowly is not gone.
    goneMs: LONG_MS,
    // It is started again by who started it.
    killBroker: async () => {
      const pid = await brokerPid(fleet.home)
      if (pid !== undefined) process.kill(pid, 'SIGKILL')
      return pid !== undefined
    },
  })
  expect({ seed, ...report }).toMatchObject({ seed, lost: [], twice: [], again: [], doubled: [], left: 0 })
  const { servers, machines, brokers, hubs } = report.kills
  expect(servers + machines + brokers + hubs).toBeGreaterThan(0)
})
