import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KillWorld, killAtRandom } from './support/loop-kills.ts'
import { seeded } from './support/random.ts'

const isLong = process.env.CHIRALITY_TEST_ALL !== undefined
let world: KillWorld
beforeAll(async () => {
  world = await KillWorld.open()
})
afterAll(() => world.close())

const [KILLS, TASKS] = isLong
  ? [100, { proved: 16, asking: 2, idle: 2 }]
  : [4, { proved: 2, asking: 1, idle: 0 }]

test(`${KILLS} kills of the server at random moments: every task ends once, and nothing is left`, {
  timeout: 300_000 + KILLS * 30_000,
}, async () => {
  const seed = Date.now() % 1e6
  for await (const report of killAtRandom(world, TASKS, { kills: KILLS, random: seeded(seed) }))
    expect({ seed, problems: report.problems }).toEqual({ seed, problems: [] })
})

test('a server that is killed between a step and its journal: nothing is done twice, and commits of a person on the branch stay', {
  timeout: 300_000,
}, async () => {
  const { repository, book } = world
  const tasks = { proved: 2, asking: 1, idle: 0 }
  // The loop exists, and nothing of it runs.
  const { server, loopId, before, list } = await world.start(tasks, {
    killAt: { when: 'after', type: 'loop:start' },
  })
  await server.exited
  const [made, , asking] = ((await book.tasks(await book.get(loopId))) ?? []).map(({ id }) => id)
  const killedBefore = async (type: string) => (await world.server({ when: 'before', type })).exited
  // The checks have passed.
  await killedBefore('task:proved')
  // The merge is made, and a person builds on it.
  await killedBefore('task:merged')
  const folder = repository
    .run('worktree', 'list', '--porcelain')
    .match(new RegExp(`(?<=^worktree ).*/loop-${loopId}/.*`, 'm'))?.[0] as string
  writeFileSync(path.join(folder, 'person.txt'), 'mine\n')
  repository.run('-C', folder, 'add', 'person.txt')
  repository.run('-C', folder, 'commit', '-qm', 'By a person')
  // The checks have failed, and the question is known.
  await killedBefore('task:parked')
  const last = await world.server({ when: 'before', type: 'task:reverted' })
  await expect.poll(async () => (await book.get(loopId)).end?.reason, SLOW).toBe('blocked')
  const { problems, state } = await world.problems(loopId, before)
  expect(problems).toEqual([])
  // No agent was asked again for what it had done.
  expect([...state.tasks.values()].map(({ status, iterations }) => [status, iterations])).toEqual([
    ['merged', 1],
    ['merged', 1],
    ['parked', 1],
  ])
  expect(state.tasks.get(asking ?? '')?.why).toBe('Which one do you mean?')
  await expect(last.post(`/${loopId}/tasks/${made}/revert`, {})).rejects.toThrow()
  await last.exited

  const next = await world.server()
  await expect.poll(async () => (await book.get(loopId)).tasks.get(made ?? '')?.status, SLOW).toBe('reverted')
  await next.kill()
  const branch = `chirality/loop-${list.slice(0, -3).toLowerCase()}`
  expect(repository.run('ls-tree', '--name-only', branch)).toMatch(
    /^(?!.*-00\.txt).*-01\.txt\nREADME.*person/s,
  )
  expect(repository.run('log', '--format=%s', '--grep=This reverts', branch).trim().split('\n')).toHaveLength(
    1,
  )
  expect(readFileSync(path.join(repository.root, list), 'utf8').match(/\[x\] .*/g)).toEqual([
    expect.stringMatching(/-01$/),
  ])
})

const SLOW = { timeout: 240_000, interval: 50 }
