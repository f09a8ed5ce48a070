import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LoopSummary } from '@chirality/centre'
import { checkAnswers } from '@chirality/centre'
import { initRepository, type Repository } from '@chirality/fixtures'
import { findByMarker } from '@chirality/runner'
import type { Script } from '@chirality/scripted-model'
import { expect, onTestFinished, test } from 'vitest'
import { startServer } from '../src/index.ts'
import { createWorld, type World } from './support/agents.ts'
import { startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'

function repositoryWith(project: string, tasks: string): Repository {
  const repository = initRepository(project)
  repository.write('README.md', 'A project.\n')
  repository.write('TASKS.md', tasks)
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  return repository
}

async function serverWith(world: World) {
  checkAnswers()
  const faults: unknown[] = []
  const server = await startServer({
    ...{ harnesses: world.harnesses(), projects: [world.project], port: 0 },
    ...{ home: path.join(world.home, 'chirality'), onFault: error => faults.push(error) },
  })
  onTestFinished(() => server.close())
  return { server, faults, ...connect(server) }
}

const refused = (reason: string) => expect.objectContaining({ data: expect.objectContaining({ reason }) })
const bash = (command: string) => ({ tool: 'Bash', input: { command } })
const named = (word: string, answers: Script['answers']) => ({
  when: { conversationContains: `## Task\n\n${word}` },
  ...{ answers: answers ?? [], otherwise: 'I am done.' },
})

test('a loop through the server: sessions in the list, a parked task answered, proved, reverted and accepted', async () => {
  const world = await createWorld({
    routes: [
      named('Say one', [bash('echo one > one.txt')]),
      named('Say two', [
        'Which word should I use?',
        bash('echo two > two.txt'),
        'Done.',
        bash('echo two > two.txt'),
      ]),
      { when: { conversationContains: 'Look around' }, answers: [], otherwise: 'I did.' },
    ],
  })
  const tasks = '- [ ] Say one\n  checks: grep one one.txt\n- [ ] Say two\n  checks: grep two two.txt\n'
  const repository = repositoryWith(world.project, tasks)
  const { server, client, faults } = await serverWith(world)
  const { project } = world
  expect(await client.loops.files.query({ project })).toEqual([
    { path: 'TASKS.md', open: 2, done: 0, problem: null },
  ])
  const told: LoopSummary[] = []
  const fleet = client.fleet.events.subscribe(undefined, {
    onData: event => {
      if (event.type === 'loops') told.push(...event.loops)
    },
  })
  onTestFinished(() => fleet.unsubscribe())
  /** What the last message says once a run that began with `version` is over. */
  const endOf = async ({ version }: LoopSummary) => {
    const last = () => told.findLast(loop => loop.version > version && loop.runs === 'no')
    await expect.poll(last, SLOW).toBeDefined()
    return last()
  }
  const started = await client.loops.start.mutate({ project, list: 'TASKS.md', limits: { budgetUsd: 5 } })
  const { loopId } = started
  expect(await endOf(started)).toMatchObject({
    ...{ loopId, list: 'TASKS.md', isOver: true, iterations: 2, limits: { budgetUsd: 5 } },
    ...{
      counts: { proved: 1, look: 0, noCheck: 0, parked: 1, failed: 0, working: 0, toGo: 0 },
      end: { reason: 'blocked' },
    },
  })
  const [one, two] = (await client.loops.get.query({ loopId })).tasks
  expect(one).toMatchObject({
    ...{
      id: 'say-one',
      status: 'merged',
      iterations: 1,
      diff: { files: 1 },
      ...{ flags: [], verdict: 'proved' },
    },
    checks: [{ command: 'grep one one.txt', exitCode: 0 }],
  })
  expect(two).toMatchObject({ status: 'parked', parked: 'question', why: 'Which word should I use?' })
  // They are sessions like all others.
  const { sessions } = await client.sessions.list.query({ project })
  expect(sessions.map(({ id, title }) => [id, title]).sort()).toEqual(
    [one, two].map(task => [task?.sessionId, task?.title]).sort(),
  )
  expect(await client.loops.task.query({ loopId, task: 'say-one' })).toMatchObject({
    ...{ checks: [{ tail: 'one\n' }], receipt: { task: { id: 'say-one' }, merged: expect.any(String) } },
    prompt: expect.stringContaining('## Task\n\nSay one'),
  })
  // The answer puts it back, in the same session.
  const again = { task: 'say-two', note: 'Use the word two.' }
  await endOf(await client.loops.resume.mutate({ loopId, again }))
  const { prompt, notes } = await client.loops.task.query({ loopId, task: 'say-two' })
  expect({ prompt, notes }).toEqual({
    prompt: expect.stringContaining('Use the word two.'),
    notes: ['Use the word two.'],
  })
  const list = () => readFileSync(path.join(project, 'TASKS.md'), 'utf8').match(/\[.\] .*/g)
  expect(list()).toEqual(['[x] Say one', '[x] Say two'])

  const reverted = await client.loops.revert.mutate({ loopId, task: 'say-two' })
  expect(reverted.counts).toMatchObject({ proved: 1, toGo: 1 })
  expect(list()).toEqual(['[x] Say one', '[ ] Say two'])
  // The list is ticked, and not committed: the merge does not touch it. A turn that begins meanwhile waits for it.
  const { worktrees } = server.host
  const get = worktrees.get.bind(worktrees)
  const { id } = await server.host.createSession(project, { harness: 'messages-api' })
  const other = await server.host.session(id)
  const begunAt = Date.now()
  await other.start('Look around')
  await other.settled()
  const usualMs = Date.now() - begunAt
  const asked = world.model.waitForRequest(({ body }) => JSON.stringify(body).includes('Once more'))
  let isAsked = false
  void asked.then(() => {
    isAsked = true
  })
  worktrees.get = async worktree => {
    worktrees.get = get
    void other.send('Once more')
    await expect.poll(() => other.status.phase, SLOW).not.toBe('idle')
    await Promise.race([asked, sleep(2 * usualMs + 500)])
    expect(isAsked).toBe(false)
    return get(worktree)
  }
  expect(await client.loops.accept.mutate({ loopId })).toMatchObject({ into: 'main', tasks: ['say-one'] })
  await asked
  await other.settled()
  expect(repository.run('show', 'main:one.txt')).toBe('one\n')
  expect(() => repository.run('show', 'main:two.txt')).toThrow()
  await expect(client.loops.accept.mutate({ loopId })).rejects.toMatchObject({
    data: { reason: 'loop-refused' },
  })
  await expect(client.loops.revert.mutate({ loopId, task: 'say-one' })).rejects.toThrow(
    'The change is in main already',
  )
  // What was reverted is run again from the branch as it is now.
  const { version } = await client.loops.get.query({ loopId })
  await client.loops.resume.mutate({ loopId, again: { task: 'say-two', note: 'Once more.' } })
  await endOf({ ...reverted, version })
  expect((await client.loops.get.query({ loopId })).tasks[1]).toMatchObject({ status: 'merged' })
  const { markdown } = await client.loops.report.query({ loopId })
  expect(markdown).toContain('2 proved · 0 need you · 0 not proved · 0 to go')
  expect(faults).toEqual([])
})

test('a loop that ends with its server goes on with the next one, at the same task, once', async () => {
  const stalled = { text: 'I am about to do it, and take my time.', stallAfter: 1 }
  const world = await createWorld({
    routes: [
      named('Say one', [bash('echo one > one.txt')]),
      named('Say two', [stalled, bash('echo two > two.txt')]),
    ],
  })
  const tasks = '- [ ] Say one\n  checks: grep one one.txt\n- [ ] Say two\n  checks: grep two two.txt\n'
  repositoryWith(world.project, tasks)
  const first = await serverWith(world)
  const { loopId } = await first.client.loops.start.mutate({ project: world.project, list: 'TASKS.md' })
  await world.model.waitForRequest(({ state }) => state === 'stalled')
  const [, { sessionId = '' } = {}] = (await first.client.loops.get.query({ loopId })).tasks
  await first.server.close()
  world.model.release()
  const { server, client, faults } = await serverWith(world)
  const summary = () => client.loops.get.query({ loopId })
  await expect.poll(async () => (await summary()).end?.reason, SLOW).toBe('done')
  const { tasks: done } = await summary()
  expect(done).toMatchObject([
    { status: 'merged', iterations: 1 },
    { status: 'merged', sessionId },
  ])
  const response = await fetch(`${server.url}/api/harness/loops/${loopId}/events`, {
    headers: { authorization: `Bearer ${server.token}` },
  })
  const journal = (await response.text()).match(/^event: .*/gm) ?? []
  const count = (type: string) => journal.filter(line => line === `event: ${type}`).length
  expect([count('loop:start'), count('run:start'), count('task:start')]).toEqual([1, 2, 2])
  expect([count('task:merged'), count('loop:end')]).toEqual([2, 1])
  expect([...first.faults, ...faults]).toEqual([])
})

test('a loop needs no agent to be refused, stopped, listed and forgotten with its project', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const { project } = server
  const repository = repositoryWith(project, '---\nsetup: sleep 300\n---\n- [ ] One\n- [ ] Two\n')
  const until = '2040-01-31T06:30:00.000Z'
  const start = (list = 'TASKS.md') => client.loops.start.mutate({ project, list, limits: { until } })
  for (const [list, reason] of [
    ['NONE.md', 'file-missing'],
    ['../TASKS.md', 'outside-project'],
    ['.git/HEAD', 'outside-project'],
    ['README.md', 'bad-list'],
  ] as const)
    await expect(start(list)).rejects.toEqual(refused(reason))
  await expect(
    client.loops.start.mutate({ project, list: 'TASKS.md', limits: { until: '2020-01-31T06:30:00Z' } }),
  ).rejects.toThrow('is over')
  repository.write('README.md', 'Changed.\n')
  await expect(start()).rejects.toThrow('not committed (README.md)')
  repository.run('checkout', '-q', 'README.md')
  await expect(client.loops.get.query({ loopId: 'no-such-loop' })).rejects.toEqual(refused('loop-missing'))
  expect(await client.loops.list.query()).toEqual([])

  // Two at once on one list: one of them is refused, and says how to go on.
  const both = await Promise.allSettled([start(), start()])
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(both.find(one => one.status === 'rejected')?.reason).toEqual(refused('loop-running'))
  const [{ loopId = '' } = {}] = await client.loops.list.query({ project })
  const shown = () => client.loops.get.query({ loopId })
  await expect.poll(async () => (await shown()).tasks[0]?.stage, SLOW).toBe('set-up')
  const marker = (await shown()).tasks[0]?.worktreeId ?? ''
  await expect.poll(() => findByMarker(marker), SLOW).not.toEqual([])
  for (const call of [
    client.loops.accept.mutate({ loopId }),
    client.loops.revert.mutate({ loopId, task: 'one' }),
  ])
    await expect(call).rejects.toEqual(refused('loop-running'))
  const changed = await client.loops.resume.mutate({ loopId, limits: { budgetUsd: 2, maxIterations: 7 } })
  expect(changed).toMatchObject({ runs: 'here', limits: { budgetUsd: 2, maxIterations: 7, until } })
  await expect(client.loops.resume.mutate({ loopId, again: { task: 'one', note: '' } })).rejects.toEqual(
    refused('loop-refused'),
  )
  expect(await client.loops.stop.mutate({ loopId })).toMatchObject({ runs: 'no', end: { reason: 'stopped' } })
  expect(await findByMarker(marker)).toEqual([])
  expect(await client.loops.stop.mutate({ loopId })).toMatchObject({ end: { reason: 'stopped' } })

  // Its files came with the project: nothing that they name is run.
  const own = path.join(server.home, 'loops', loopId)
  renameSync(own, `${own}-aside`)
  await expect(client.loops.resume.mutate({ loopId })).rejects.toThrow('nothing in it is checked')
  renameSync(`${own}-aside`, own)

  // By REST, too.
  const get = async (route: string) => (await server.fetch(`/api/harness/loops${route}`)).json()
  expect(await get('')).toMatchObject([{ loopId, end: { reason: 'stopped' } }])
  expect(await get(`/${loopId}/report`)).toMatchObject({ markdown: expect.stringContaining('# Loop') })
  expect((await server.fetch('/api/harness/loops/NO%2F../events')).status).toBe(404)
  expect((await server.fetch(`/api/harness/loops/${loopId}/events?after=99999`)).status).toBe(409)
  const again = await server.post(`/api/harness/loops/${loopId}/resume`, { limits: { budgetUsd: null } })
  // The end time was of the first run; the limits stay.
  const kept = { maxIterations: 7, maxMinutes: null, until: null }
  expect(await again.json()).toMatchObject({ runs: 'here', limits: { budgetUsd: null, ...kept } })
  // The list is deleted, and then the project removed, while it runs.
  await expect.poll(() => findByMarker(marker), SLOW).not.toEqual([])
  rmSync(path.join(project, 'TASKS.md'))
  expect((await shown()).listProblem).toContain('is gone or cannot be read')
  await client.projects.remove.mutate({ project })
  expect(await findByMarker(marker)).toEqual([])
  await expect(shown()).rejects.toEqual(refused('loop-missing'))
  await client.projects.register.mutate({ path: project })
  expect(await shown()).toMatchObject({ runs: 'no', tasks: [{ id: 'one', inList: false }] })
  expect(server.faults).toEqual([])
})

const SLOW = { timeout: 120_000, interval: 50 }

test('before a loop starts its plan says what it would run and what is in the way; what a command prints is seen at once', async () => {
  checkAnswers()
  const server = await startTestServer()
  const { client } = connect(server)
  const { project } = server
  await expect(client.loops.plan.query({ project, list: '../TASKS.md' })).rejects.toEqual(
    refused('outside-project'),
  )
  const plan = () => client.loops.plan.query({ project, list: 'TASKS.md' })
  const problems = async () => (await plan()).problems.map(({ kind, words }) => `${kind}: ${words}`)
  writeFileSync(path.join(project, 'TASKS.md'), '- [ ] One\n')
  expect(await problems()).toEqual([expect.stringMatching(/^git: /)])
  const setup = 'echo begun; while [ ! -e ../go ]; do sleep 0.1; done; exit 3'
  const list = (checks: string) =>
    `---\nsetup: ${setup}\nbudget_usd: 3\n---\n- [x] Zero\n- [ ] One\n  checks: ${checks}\n- [ ] Two\n  depends_on: One\n`
  const repository = repositoryWith(project, list('npm test'))
  const first = await plan()
  expect(first).toMatchObject({
    ...{ done: 1, setup: [setup], checks: ['npm test'], problems: [], openLoop: null, isAllowed: false },
    tasks: [
      { id: 'one', checks: 1 },
      { id: 'two', dependsOn: ['one'] },
    ],
    limits: { budgetUsd: 3, parallel: 1 },
  })
  repository.write('new.txt', 'x')
  expect(await problems()).toEqual([expect.stringContaining('dirty: 1 files are not committed (new.txt)')])
  repository.write('TASKS.md', '- [ ] One\n  depends_on: Two\n- [ ] Two\n  depends_on: One\n')
  expect((await problems())[0]).toMatch(/^list: TASKS\.md:\d+: /)
  repository.write('TASKS.md', '- [x] One\n')
  expect((await problems())[0]).toContain('ticked')

  // Only what was shown is run.
  repository.write('TASKS.md', list('npm run other'))
  const start = (commands: string) =>
    client.loops.start.mutate({ project, list: 'TASKS.md', allowDirty: true, commands })
  await expect(start(first.fingerprint)).rejects.toEqual(refused('loop-refused'))
  const now = await plan()
  expect([now.fingerprint === first.fingerprint, now.isAllowed]).toEqual([false, false])
  const { loopId } = await start(now.fingerprint)
  // Set-up and checks run before an agent is asked, so this is the set-up of no task.
  const shown = () => client.loops.get.query({ loopId })
  const running = async () => (await shown()).base.running
  await expect.poll(running, SLOW).toMatchObject({ command: setup, output: 'begun\n' })
  expect(await plan()).toMatchObject({ isAllowed: true, openLoop: loopId })
  const [worktree] = await server.host.worktrees.list()
  writeFileSync(path.join(path.dirname(worktree?.folder ?? ''), 'go'), '')
  await expect.poll(async () => (await shown()).runs, SLOW).toBe('no')
  expect(await shown()).toMatchObject({
    ...{
      base: { running: null },
      end: { reason: 'failed', why: expect.stringContaining('The set-up failed') },
    },
    ...{ iterations: 0 },
  })
  expect(server.faults).toEqual([])
})

test('a command that joins while a loop runs waits for a person, over REST and after a restart, and only its exact text is allowed', async () => {
  checkAnswers()
  const server = await startTestServer()
  const { client } = connect(server)
  const { project } = server
  const marker = path.join(server.home, 'ran')
  const hostile = `touch ${marker}`
  repositoryWith(project, '---\nsetup: exit 3\n---\n- [ ] One\n')
  const { loopId } = await client.loops.start.mutate({ project, list: 'TASKS.md' })
  const shown = () => client.loops.get.query({ loopId })
  await expect.poll(async () => (await shown()).runs, SLOW).toBe('no')
  expect((await shown()).tasks).toMatchObject([{ id: 'one', parked: 'error' }])
  // A pull brings another task while nothing runs, and a person only goes on with the loop.
  writeFileSync(path.join(project, 'TASKS.md'), `- [ ] One\n- [ ] Two\n  checks: ${hostile}\n`)
  await client.loops.resume.mutate({ loopId })
  await expect.poll(async () => (await shown()).runs, SLOW).toBe('no')
  const parked = (await shown()).tasks[1]
  expect(parked).toMatchObject({
    ...{
      id: 'two',
      status: 'parked',
      parked: 'commands',
      commands: [hostile],
      sessionId: null,
      iterations: 0,
    },
    why: expect.stringContaining(hostile),
  })
  const allow = (command: string) => server.post(`/api/harness/loops/${loopId}/resume`, { allow: [command] })
  const other = await allow(`${hostile} `)
  expect([other.status, await other.json()]).toEqual([
    409,
    expect.objectContaining({
      error: expect.objectContaining({ message: expect.stringContaining('waits for') }),
    }),
  ])
  await expect(client.loops.resume.mutate({ loopId, allow: ['rm -rf /'] })).rejects.toEqual(
    refused('loop-refused'),
  )
  expect((await allow(hostile)).status).toBe(200)
  // It goes on: its set-up is the next thing that stands in the way.
  await expect.poll(async () => (await shown()).tasks[1]?.parked, SLOW).toBe('error')
  const { markdown } = await client.loops.report.query({ loopId })
  expect(markdown).toContain('The set-up failed')
  expect(existsSync(marker)).toBe(false)
  expect(server.faults).toEqual([])
})
