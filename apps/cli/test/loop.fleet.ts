import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { call, change, startHub, startWorker } from './support/fleet.ts'
import { createWorld } from './support/world.ts'

const git = (folder: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@x', ...args], {
    cwd: folder,
    encoding: 'utf8',
  })

interface ShownLoop {
  loopId: string
  end: { reason: string } | null
  tasks: {
    id: string
    status: string
    machine?: string
    waits?: string
    why: string | null
    sessionId: string
  }[]
}

test('a loop of a hub lets a worker do a task with a real agent, and proves and merges it itself', async () => {
  const world = await createWorld({
    answers: [
      { tool: 'Bash', input: { command: 'pwd > place.txt; cat set-up.txt > hello.txt' } },
      'It is done.',
    ],
    otherwise: 'ok',
  })
  const { project } = world
  git(project, 'init', '-q', '-b', 'main')
  writeFileSync(path.join(project, '.gitignore'), '.chirality\nset-up.txt\n')
  git(project, 'add', '.')
  git(project, 'commit', '-qm', 'first')
  const clone = path.join(world.home, 'clones', 'project')
  git(world.home, 'clone', '-q', project, clone)
  // What the worker does not have yet goes along.
  writeFileSync(path.join(project, 'newer.txt'), 'newer\n')
  git(project, 'add', '.')
  git(project, 'commit', '-qm', 'second')
  const list = `---
setup: echo hello > set-up.txt
checks: test -f set-up.txt
---
- [ ] Say hello
  where: build
  checks: grep -q hello hello.txt && test -f newer.txt
- [ ] Use the card
  where: gpu
`
  writeFileSync(path.join(project, 'TASKS.md'), list)

  const alone = await world.run(['loop', 'run', 'TASKS.md'])
  expect(alone).toMatchObject({ code: 1, stderr: expect.stringContaining('serve --fleet') })

  const hub = await startHub(world, [project])
  const worker = await startWorker(world, hub, { name: 'worker', projects: [clone], labels: ['build'] })
  const { loopId } = await change<ShownLoop>(hub, 'loops.start', { project, list: 'TASKS.md' })
  const shown = () => call<ShownLoop>(hub, 'loops.get', { loopId })
  const tasks = async () =>
    (await shown()).tasks.map(({ status, machine, waits, why }) => [status, machine, waits ?? why])
  await expect.poll(tasks, { timeout: 200_000 }).toEqual([
    ['merged', 'worker', null],
    ['working', undefined, 'waits: no machine has the labels gpu'],
  ])
  expect(git(project, 'show', 'chirality/loop-tasks:hello.txt')).toBe('hello\n')
  expect(git(project, 'show', 'chirality/loop-tasks:place.txt')).toContain(
    path.join(worker.home, 'worktrees'),
  )
  expect(readFileSync(path.join(project, 'TASKS.md'), 'utf8')).toBe(list.replace('- [ ] Say', '- [x] Say'))
  const folder = path.join(project, '.chirality', 'loops', loopId)
  const receipt = path.join(folder, 'receipts', 'say-hello.json')
  expect(await world.start(['loop', 'verify', receipt], hub.options).result()).toMatchObject({ code: 0 })
  // The session is the hub's again, with what was said there.
  const [{ sessionId = '' } = {}] = (await shown()).tasks
  const { sessions } = await call<{ sessions: { id: string; machine?: object }[] }>(hub, 'sessions.list', {})
  expect(sessions.find(({ id }) => id === sessionId)?.machine).toBeUndefined()
  expect(JSON.stringify(await call(hub, 'sessions.history', { sessionId }))).toContain('It is done.')
  expect(existsSync(path.join(clone, '.chirality', 'events', `${sessionId}.ndjson`))).toBe(false)
  await expect.poll(() => readdirSync(path.join(worker.home, 'fleet', 'work'))).toEqual([])

  // What waits is stopped at once.
  await change(hub, 'loops.stop', { loopId })
  expect(await shown()).toMatchObject({ end: { reason: 'stopped' } })
  for (const { command } of [worker, hub]) {
    command.signal('SIGINT')
    expect((await command.result()).code).toBe(0)
  }
}, 400_000)
