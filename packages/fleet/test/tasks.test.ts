import { expect, test } from 'vitest'
import { brokerPid } from '../src/engine/broker-process.ts'
import { connect, joined, startFleet } from './support/fleet.ts'
import { runTasks } from './tasks/chaos.ts'

test('24 tasks over three workers while these, the hub and the broker are killed at random: none is lost, none is run twice', {
  timeout: 600_000,
}, async () => {
  const seed = Date.now() % 1e6
  const fleet = await startFleet()
  const hub = await connect(fleet.hub)
  await hub.prepare()
  const workers: Record<string, string> = {}
  for (const name of ['one', 'two', 'three']) workers[name] = (await joined(fleet, hub, name)).home
  const report = await runTasks({
    ...{ tasks: 24, seed, hub: fleet.home, workers, marksBetweenKills: 8, gone: 0 },
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
