import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import {
  call,
  change,
  cloneProject,
  git,
  type Server,
  started,
  startHub,
  startWorker,
} from './support/fleet.ts'
import { createWorld } from './support/world.ts'

interface Budget {
  total_tokens: number
  elsewhere: { machine: string; tokens: number; turns: number; at: string | null }[]
}

test('the budget of a project counts what all machines spent on it, also while the broker is away, and says how old that is', async () => {
  const world = await createWorld({ otherwise: 'Done.' })
  const [clone = '', hostile = '', long = ''] = cloneProject(world, { clones: ['shop', 'hostile', 'long'] })
  const remotes = { [clone]: 'team/shop', [hostile]: 'team/hostile', [long]: 'x'.repeat(2000) }
  for (const [at, name] of Object.entries(remotes))
    git(at, 'remote', 'set-url', 'origin', `https://example.com/${name}.git`)
  // The folder has another name than the clone: only the remote is the same.
  git(world.project, 'remote', 'add', 'origin', 'git@example.com:team/shop.git')
  // Neither costs the worker its beats.
  const state = path.join(hostile, '.chirality', 'state')
  mkdirSync(state, { recursive: true })
  const sums = { total_cost_usd: 1e308, total_tokens: 1e300, total_minutes: 1e306, iterations: 1 }
  writeFileSync(path.join(state, 'budget.json'), JSON.stringify(sums))
  const hub = await startHub(world, [clone])
  const worker = await startWorker(world, hub, { name: 'worker', projects: [world.project, hostile, long] })
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
  const file = path.join(worker.home, 'fleet', 'spent.json')
  const earlier = new Date(Date.now() - 2 * 3_600_000).toISOString()
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/"at":"[^"]*"/g, `"at":"${earlier}"`))
  const known = /budget.* of the project is used up: .*on hub, as it said 2 h.* ago\./
  const alone = await started(worker.start())
  await expect(begin(alone, world.project)).rejects.toThrow(known)
  alone.command.signal('SIGINT')
  expect((await alone.command.result()).code).toBe(0)

  // So do commands that need no server, and a server that is not started for the fleet.
  const here = ['--project', world.project]
  const run = await world.start(['run', ...here, 'Hi'], worker.options).result()
  expect(run).toMatchObject({ code: 5, stderr: expect.stringMatching(known) })
  writeFileSync(path.join(world.project, 'TASKS.md'), '- [ ] Say hello\n  checks: true\n')
  const loop = await world.start(['loop', 'run', 'TASKS.md', ...here], worker.options).result()
  expect(loop.code).not.toBe(0)
  expect(`${loop.stdout}${loop.stderr}`).toMatch(known)
  const plain = await started(
    world.start(['serve', '--json', '--port', '0', '--no-open', ...here], worker.options),
  )
  await expect(begin(plain, world.project)).rejects.toThrow(known)
  expect((await budget(plain, world.project)).elsewhere).toMatchObject([{ machine: 'hub', tokens: ofHub }])
  await limit(plain, world.project, null)
  await begin(plain, world.project)
  plain.command.signal('SIGINT')
  expect((await plain.command.result()).code).toBe(0)
}, 600_000)
