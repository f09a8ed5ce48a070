import { expect, test } from 'vitest'
import { call, change, cloneProject, type Server, started, startHub, startWorker } from './support/fleet.ts'
import { createWorld } from './support/world.ts'

interface Budget {
  total_tokens: number
  elsewhere: { machine: string; tokens: number; turns: number; at: string | null }[]
}

test('the budget of a project counts what all machines spent on it, also while the broker is away, and says how old that is', async () => {
  const world = await createWorld({ otherwise: 'Done.' })
  const [clone = ''] = cloneProject(world)
  const hub = await startHub(world, [clone])
  const worker = await startWorker(world, hub, { name: 'worker', projects: [world.project] })
  const begin = async (server: Server, project: string) => {
    const { id } = await change<{ id: string }>(server, 'sessions.create', {
      project,
      harness: 'claude-code',
    })
    await change(server, 'turns.start', { sessionId: id, message: 'Hi' })
    const status = () =>
      call<{ status: string; turnCount: number }>(server, 'sessions.get', { sessionId: id })
    await expect.poll(status).toMatchObject({ status: 'idle', turnCount: 1 })
  }
  const budget = (server: Server, project: string) => call<Budget>(server, 'budgets.get', { project })
  const limit = (server: Server, project: string, maxTokens: number | null) =>
    change(server, 'budgets.set', { project, maxTokens })

  // The hub hears what its worker spent.
  await begin(worker, world.project)
  const { total_tokens: spent } = await budget(worker, world.project)
  expect(spent).toBeGreaterThan(0)
  await expect
    .poll(async () => (await budget(hub, clone)).elsewhere)
    .toEqual([expect.objectContaining({ machine: 'worker', tokens: spent, turns: 1 })])
  await limit(hub, clone, spent)
  await expect(begin(hub, clone)).rejects.toThrow(
    /^budget: The budget of the project is used up: .*on worker, as it says now\. Raise it/,
  )
  const shown = await world.start(['budget', '--project', clone], hub.options).result()
  expect(shown.stdout).toMatch(/0 spent, limit .*\nCounted towards the limits, too:\n {2}on worker, as it/s)

  // The worker is told what the hub spent, and reads nothing of it itself.
  await limit(hub, clone, null)
  await begin(hub, clone)
  const { total_tokens: ofHub } = await budget(hub, clone)
  await expect
    .poll(async () => (await budget(worker, world.project)).elsewhere)
    .toEqual([expect.objectContaining({ machine: 'hub', tokens: ofHub, turns: 1 })])
  await limit(worker, world.project, spent + 1)
  await expect(begin(worker, world.project)).rejects.toThrow(/^budget: .*on hub, as it says now/)

  // The broker goes with its hub: what was known counts, also for the next server.
  worker.command.signal('SIGINT')
  expect((await worker.command.result()).code).toBe(0)
  hub.command.signal('SIGINT')
  expect((await hub.command.result()).code).toBe(0)
  const alone = await started(worker.start())
  await expect
    .poll(() => begin(alone, world.project).then(String, String), { timeout: 60_000 })
    .toMatch(/budget: .*on hub, as it said \d.* ago\./)
  await limit(alone, world.project, null)
  await begin(alone, world.project)
  alone.command.signal('SIGINT')
  expect((await alone.command.result()).code).toBe(0)
}, 600_000)
