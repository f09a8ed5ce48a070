import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { call, change, cloneProject, git, started, startHub, startWorker } from './support/fleet.ts'
import { createWorld } from './support/world.ts'

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
  const [clone = ''] = cloneProject(world, { ignored: ['set-up.txt'] })
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

test('a task whose worker is killed in the middle is begun anew on another one by itself, once; the worker that returns runs nothing of it', async () => {
  const world = await createWorld({
    answers: [
      { tool: 'Bash', input: { command: 'echo begun > begun.txt' } },
      { text: 'This takes its time.', stallAfter: 1 },
      { tool: 'Bash', input: { command: 'echo hello > hello.txt' } },
      'It is done.',
    ],
    otherwise: 'ok',
  })
  const { project, model } = world
  const [first = '', second = ''] = cloneProject(world, { clones: ['first/project', 'second/project'] })
  const list = '- [ ] Say hello\n  where: build\n  checks: grep -q hello hello.txt && test ! -f begun.txt\n'
  writeFileSync(path.join(project, 'TASKS.md'), list)
  const hub = await startHub(world, [project])
  const labels = ['build']
  const gone = await startWorker(world, hub, { name: 'gone', projects: [first], labels })
  const { loopId } = await change<ShownLoop>(hub, 'loops.start', { project, list: 'TASKS.md' })
  const shown = () => call<ShownLoop>(hub, 'loops.get', { loopId })
  await model.waitForRequest(request => request.state === 'stalled')
  const [{ machine, sessionId: lost = '' } = {}] = (await shown()).tasks
  expect(machine).toBe('gone')
  const other = await startWorker(world, hub, { name: 'other', projects: [second], labels })
  const asked = model.requests.length
  gone.command.signal('SIGKILL')
  await gone.command.result()

  const tasks = async () => (await shown()).tasks.map(task => [task.status, task.machine])
  await expect.poll(tasks, { timeout: 400_000 }).toEqual([['merged', 'other']])
  expect(git(project, 'show', 'chirality/loop-tasks:hello.txt')).toBe('hello\n')
  await expect.poll(async () => (await shown()).end?.reason).toBe('done')
  const journal = readFileSync(path.join(project, '.chirality', 'loops', loopId, 'journal.ndjson'), 'utf8')
  const entries = journal
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as { type: string })
  expect(entries.filter(({ type }) => type === 'task:lost')).toMatchObject([
    { n: 1, why: expect.stringContaining('gone is gone'), spent: { tokens: expect.any(Number) } },
  ])
  expect(entries.filter(({ type }) => type === 'task:placed')).toMatchObject([
    { n: 1, machine: 'gone' },
    { n: 2, machine: 'other' },
  ])

  // It is back, with its agent at work: that is ended, and nothing is asked of the model again.
  const back = await started(gone.start())
  await expect
    .poll(() => readdirSync(path.join(gone.home, 'fleet', 'work')), { timeout: 120_000 })
    .toEqual([])
  const { status } = await call<{ status: string }>(back, 'sessions.get', { sessionId: lost })
  expect(status).toBe('idle')
  const again = model.requests.slice(asked).filter(({ body }) => JSON.stringify(body).includes('echo begun'))
  expect(again).toEqual([])
  expect(await tasks()).toEqual([['merged', 'other']])
  for (const { command } of [back, other, hub]) {
    command.signal('SIGINT')
    expect((await command.result()).code).toBe(0)
  }
}, 900_000)
