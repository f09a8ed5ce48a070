import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { checkAnswers } from '@chirality/centre'
import { initRepository } from '@chirality/fixtures'
import { dueWork, type NewSchedule, ScheduleBook } from '@chirality/loops'
import { expect, test } from 'vitest'
import { createWorld } from './support/agents.ts'
import { startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'

const SLOW = { timeout: 120_000, interval: 50 }
const MAKES = { text: 'I make it.', tool: 'bash', input: { command: 'echo made > made.txt' } }
const refused = (reason: string) => expect.objectContaining({ data: expect.objectContaining({ reason }) })
const NIGHTLY = { kind: 'cron', cron: '0 3 * * *', timeZone: 'Europe/Berlin' } as const

test('a prompt runs when asked, leaves a receipt, and what nobody answers needs you', async () => {
  checkAnswers()
  const world = await createWorld({ answers: ['All is well.', MAKES, 'Which of the two?'] })
  const server = await startTestServer({ harnesses: world.harnesses(), projects: [world.project] })
  const { client } = connect(server)
  const { project } = world
  const what = { kind: 'prompt', prompt: 'Look at the logs.', harness: 'messages-api' } as const
  const input: NewSchedule = { name: 'Nightly check', project, what, when: NIGHTLY, answerMinutes: 0 }
  expect((await client.schedules.preview.query({ when: NIGHTLY })).times).toHaveLength(3)
  const { id, next, missed } = await client.schedules.add.mutate(input)
  expect([missed, Date.parse(next ?? '') > Date.now()]).toEqual(['skip', true])
  /** The receipt of the run that is asked for now. */
  const run = async () => {
    await client.schedules.run.mutate({ id })
    const last = async () => (await client.schedules.get.query({ id })).last
    await expect.poll(async () => (await last())?.receipt, SLOW).not.toBeNull()
    return last()
  }
  const first = await run()
  expect(first).toMatchObject({
    ...{ why: 'asked', sessionId: expect.any(String) },
    receipt: { outcome: 'done', exitCode: 0, words: 'All is well.', harness: 'messages-api' },
  })
  const { sessions } = await client.sessions.list.query({ project })
  expect(sessions).toMatchObject([{ id: first?.sessionId, title: 'Nightly check' }])
  // A request that nobody answers within its time.
  expect((await run())?.receipt).toMatchObject({
    ...{ outcome: 'needs-you', exitCode: 1, words: expect.stringContaining('It asks to use') },
  })
  // An answer that is a question.
  expect((await run())?.receipt).toMatchObject({ outcome: 'needs-you', words: 'Which of the two?' })
  expect((await client.schedules.get.query({ id })).runs).toHaveLength(3)
  expect(server.faults).toEqual([])
})

test('a run that was cut off is gone on with once: not begun, or ended and not written down', async () => {
  const world = await createWorld({ answers: ['One.', 'Two.', 'Never asked for.'] })
  const harnesses = world.harnesses()
  const first = await startTestServer({ harnesses, projects: [world.project] })
  const { home } = first
  const { project } = world
  const what = { kind: 'prompt', prompt: 'Go.', harness: 'messages-api' } as const
  // Not where the first server would find it.
  const book = new ScheduleBook(path.join(home, 'staged'))
  const added = Date.now()
  const claim = (name: string, now: number) => {
    const when = { kind: 'every', minutes: 60 } as const
    const { id } = book.add({ name, project, what, when }, added).schedule
    const work = dueWork(book.get(id), added + 3_600_000)
    if (work?.do !== 'run') throw new Error('It is not due.')
    return { id, run: book.claim(id, work, { now }) }
  }
  // The process before was killed between the claim and the session, and between the turn and its end.
  const ended = claim('Ended', Date.now())
  await first.host.createSession(project, {
    id: ended.run.sessionId,
    harness: 'messages-api',
    title: 'Ended',
  })
  const live = await first.host.session(ended.run.sessionId ?? '')
  await live.start('Go.')
  await live.settled()
  await first.close()
  // Longer ago than a run may take: none of it is used up by one that had not begun.
  const begun = claim('Claimed', Date.now() - 5 * 3_600_000)
  renameSync(book.folder, path.join(home, 'schedules'))
  const server = await startTestServer({ harnesses: world.harnesses(), home })
  const { client } = connect(server)
  const runs = async (id: string) => (await client.schedules.get.query({ id })).runs
  for (const [{ id, run }, words] of [
    [ended, 'One.'],
    [begun, 'Two.'],
  ] as const) {
    await expect
      .poll(async () => (await runs(id))[0]?.receipt, SLOW)
      .toMatchObject({ outcome: 'done', words })
    expect(await runs(id)).toMatchObject([{ run: run.run, sessionId: run.sessionId }])
  }
  const turns = await Promise.all(
    [ended, begun].map(async ({ run }) => {
      const { log } = await server.host.session(run.sessionId ?? '')
      return log.readAfter(0, log.lastSeq).filter(({ event }) => event.type === 'turn:start').length
    }),
  )
  expect(turns).toEqual([1, 1])
  expect(server.faults).toEqual([])
})

test('a scheduled loop runs to its end, and schedules are refused, paused and removed by every way', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const { project } = server
  const repository = initRepository(project)
  // A task whose set-up fails is parked, without an agent.
  repository.write('TASKS.md', '---\nsetup: exit 3\n---\n- [ ] One\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  const loop = { name: 'Tasks', project, what: { kind: 'loop', list: 'TASKS.md' }, when: NIGHTLY } as const
  const add = (fields: Partial<NewSchedule>) => client.schedules.add.mutate({ ...loop, ...fields })
  await expect(add({ what: { kind: 'loop', list: '../TASKS.md' } })).rejects.toEqual(
    refused('outside-project'),
  )
  await expect(add({ project: '/nowhere' })).rejects.toEqual(refused('project-not-registered'))
  const past = { kind: 'at', time: '2020-01-01T00:00:00Z' } as const
  await expect(add({ when: past })).rejects.toEqual(refused('schedule-refused'))
  await expect(add({ when: { ...NIGHTLY, cron: 'often' } })).rejects.toThrow('five cron fields')
  await expect(client.schedules.get.query({ id: 'none' })).rejects.toEqual(refused('schedule-missing'))
  expect(await client.schedules.list.query()).toEqual([])

  const { id } = await add({ maxMinutes: 5 })
  await client.schedules.run.mutate({ id })
  const last = async () => (await client.schedules.get.query({ id })).last
  await expect.poll(async () => (await last())?.receipt, SLOW).not.toBeNull()
  const { loopId, receipt } = (await last()) ?? {}
  expect(receipt).toMatchObject({ outcome: 'needs-you', loopId, words: '1 of 1 tasks is not done.' })
  expect(await client.loops.list.query({ project })).toMatchObject([{ loopId, counts: { parked: 1 } }])

  // One that came with the project and is not over is not gone on with.
  const loops = path.join(project, '.chirality/loops')
  const [start = ''] = readFileSync(path.join(loops, `${loopId}/journal.ndjson`), 'utf8').split('\n')
  mkdirSync(path.join(loops, 'foreign'))
  const foreign = { ...JSON.parse(start), loopId: 'foreign' }
  writeFileSync(path.join(loops, 'foreign/journal.ndjson'), `${JSON.stringify(foreign)}\n`)
  await client.schedules.run.mutate({ id })
  await expect.poll(async () => (await last())?.receipt, SLOW).toMatchObject({ outcome: 'needs-you' })
  expect([loopId, 'foreign']).not.toContain((await last())?.loopId)

  // It is changed, and every page hears of it.
  let heard = 0
  const fleet = client.fleet.events.subscribe(undefined, {
    onData: event => {
      if (event.type === 'snapshot' || event.type === 'schedules') heard += 1
    },
  })
  await expect.poll(() => heard, SLOW).toBe(1)
  const weekly = { ...NIGHTLY, cron: '30 6 * * mon' }
  const change = (fields: object) =>
    client.schedules.change.mutate({ id, name: 'Weekly', what: loop.what, when: weekly, ...fields })
  expect(await change({ budgetUsd: 2 })).toMatchObject({
    ...{ id, name: 'Weekly', budgetUsd: 2, missed: 'skip', words: 'every Monday at 06:30 (Europe/Berlin)' },
    upcoming: [expect.any(String), expect.any(String), expect.any(String)],
  })
  await expect.poll(() => heard, SLOW).toBeGreaterThan(1)
  fleet.unsubscribe()
  await expect(change({ what: { kind: 'loop', list: '../x.md' } })).rejects.toEqual(
    refused('outside-project'),
  )
  await expect(change({ what: { kind: 'prompt', prompt: 'Go.' } })).rejects.toEqual(
    refused('schedule-refused'),
  )
  expect((await client.schedules.get.query({ id })).runs).toHaveLength(2)

  // By REST, too, and by another process that has the same folder.
  const rest = async (method: string, route: string, body?: unknown) => {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) }
    const headers = { 'content-type': 'application/json' }
    return server.fetch(`/api/harness/schedules${route}`, { ...init, headers })
  }
  const { project: _project, ...named } = loop
  const made = await (await rest('POST', '', { ...named, name: 'By REST', projectRoot: project })).json()
  expect(made).toMatchObject({ name: 'By REST', isPaused: false })
  expect(await (await rest('POST', `/${made.id}/pause`, {})).json()).toMatchObject({
    isPaused: true,
    next: null,
  })
  expect(await (await rest('GET', `/${made.id}`)).json()).toMatchObject({ isPaused: true, runs: [] })
  expect(await (await rest('POST', `/${made.id}/resume`, {})).json()).toMatchObject({ isPaused: false })
  const changed = await rest('POST', `/${made.id}/change`, { ...named, name: 'By REST', keepRuns: 3 })
  expect(await changed.json()).toMatchObject({ id: made.id, keepRuns: 3, project })
  new ScheduleBook(server.home).pause(made.id)
  expect(await (await rest('GET', '')).json()).toMatchObject([{ id }, { id: made.id, isPaused: true }])
  expect((await rest('DELETE', `/${made.id}`)).status).toBe(204)
  expect((await rest('DELETE', `/${made.id}`)).status).toBe(404)
  expect((await rest('POST', `/${encodeURIComponent('../../x')}/run`, {})).status).toBe(404)
  expect(server.faults).toEqual([])
})

test('a run of a list with other commands than those that were allowed runs none of them, and needs you', async () => {
  checkAnswers()
  const server = await startTestServer()
  const { client } = connect(server)
  const { project } = server
  const repository = initRepository(project)
  const list = (command: string) => `- [ ] One\n  checks: ${command}\n`
  repository.write('TASKS.md', list('npm test'))
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  const what = { kind: 'loop', list: 'TASKS.md' } as const
  const { id, what: added } = await client.schedules.add.mutate({
    name: 'Tasks',
    project,
    what,
    when: NIGHTLY,
  })
  expect(added).toMatchObject({ commands: ['npm test'] })
  const last = async () => (await client.schedules.get.query({ id })).last
  const run = async () => {
    await client.schedules.run.mutate({ id })
    await expect.poll(async () => (await last())?.receipt, SLOW).not.toBeNull()
    return last()
  }
  // A pull brings another command, in the night.
  const ran = path.join(server.home, 'ran')
  repository.write('TASKS.md', list(`touch ${ran}`))
  const told: string[] = []
  const fleet = client.fleet.events.subscribe(undefined, {
    onData: event => {
      if (event.type === 'loops') told.push(...event.loops.map(({ counts }) => `${counts.parked} parked`))
    },
  })
  const first = await run()
  fleet.unsubscribe()
  expect(first?.receipt).toMatchObject({ outcome: 'needs-you', sessions: [] })
  expect(told).toContain('1 parked')
  const shown = await client.loops.get.query({ loopId: `${first?.loopId}` })
  expect(shown.tasks).toMatchObject([{ parked: 'commands', commands: [`touch ${ran}`], sessionId: null }])
  expect(existsSync(ran)).toBe(false)
  // A change of its times allows nothing; a person who allows the command does.
  const change = (fields: object) =>
    client.schedules.change.mutate({ id, name: 'Tasks', when: NIGHTLY, what: { ...what, ...fields } })
  expect((await change({ parallel: 2 })).what).toMatchObject({ commands: ['npm test'], parallel: 2 })
  expect((await run())?.receipt).toMatchObject({ outcome: 'needs-you' })
  await change({ commands: ['exit 3'], nextHarnesses: [] })
  repository.write('TASKS.md', `---\nsetup: exit 3\n---\n- [ ] One\n`)
  const allowed = await run()
  const { tasks } = await client.loops.get.query({ loopId: `${allowed?.loopId}` })
  // It was run, and said what it says.
  expect(tasks).toMatchObject([{ parked: 'error', why: expect.stringContaining('The set-up failed') }])
  expect(server.faults).toEqual([])
})

test('a folder of schedules that cannot be read is a fault that the server outlives', async () => {
  const { home, close } = await startTestServer()
  await close()
  const folder = path.join(home, 'schedules')
  rmSync(folder, { recursive: true, force: true })
  writeFileSync(folder, '')
  const server = await startTestServer({ home })
  const { client } = connect(server)
  // Of what is due, and of when the next time is.
  await expect.poll(() => server.faults.length, SLOW).toBeGreaterThan(1)
  rmSync(folder)
  const { project } = server
  const what = { kind: 'loop', list: 'TASKS.md' } as const
  writeFileSync(path.join(project, 'TASKS.md'), '- [ ] One\n')
  const { id } = await client.schedules.add.mutate({ name: 'Tasks', project, what, when: NIGHTLY })
  expect(await client.schedules.list.query()).toMatchObject([{ id }])
})

test('a run waits while another server has the project', async () => {
  const server = await startTestServer()
  const { project } = server
  const { client } = connect(server)
  const repository = initRepository(project)
  repository.write('TASKS.md', '---\nsetup: exit 3\n---\n- [ ] One\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  await server.host.closeProject(project)
  const other = await startTestServer({ projects: [project] })
  const what = { kind: 'loop', list: './TASKS.md' } as const
  const { id } = await client.schedules.add.mutate({ name: 'Tasks', project, what, when: NIGHTLY })
  await client.schedules.run.mutate({ id })
  await other.close()
  const receipt = async () => {
    // What is left is looked at again now.
    await client.schedules.resume.mutate({ id })
    return (await client.schedules.get.query({ id })).last?.receipt
  }
  await expect.poll(receipt, SLOW).toMatchObject({ outcome: 'needs-you' })
  expect((await client.schedules.get.query({ id })).runs).toHaveLength(1)
})

test('worktrees of earlier runs go, but for what is only there and what a person went on with', async () => {
  const world = await createWorld({ answers: Array.from({ length: 6 }, (_, n) => `Answer ${n}.`) })
  const { project } = world
  const repository = initRepository(project)
  repository.write('a.txt', 'a')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  const server = await startTestServer({ harnesses: world.harnesses(), projects: [project] })
  const { client } = connect(server)
  const what = { kind: 'prompt', prompt: 'Look.', harness: 'messages-api', worktree: true } as const
  const input = { name: 'Nightly check', project, what, when: NIGHTLY, keepRuns: 1 }
  const { id } = await client.schedules.add.mutate(input)
  const run = async () => {
    await client.schedules.run.mutate({ id })
    const last = async () => (await client.schedules.get.query({ id })).last
    await expect.poll(async () => (await last())?.receipt, SLOW).toMatchObject({ outcome: 'done' })
    const { sessionId = '', worktreeId = '' } = (await last()) ?? {}
    const { folder } = await server.host.worktrees.get(worktreeId)
    return { sessionId, worktreeId, folder }
  }
  const there = async () => (await server.host.worktrees.list()).map(worktree => worktree.id)
  const changed = await run()
  writeFileSync(path.join(changed.folder, 'new.txt'), 'Only here.')
  const goneOn = await run()
  const live = await server.host.session(goneOn.sessionId)
  await live.start('And then?')
  await live.settled()
  const turns = async () => (await server.host.store.get(goneOn.sessionId))?.turnCount
  await expect.poll(turns, SLOW).toBe(2)
  const clean = await run()
  const last = await run()
  await expect.poll(there, SLOW).toEqual([changed.worktreeId, goneOn.worktreeId, last.worktreeId])
  expect(readFileSync(path.join(changed.folder, 'new.txt'), 'utf8')).toBe('Only here.')
  // Its session can still be read.
  const { log } = await server.host.session(clean.sessionId)
  expect(log.lastSeq).toBeGreaterThan(0)
  expect(server.faults).toEqual([])
})
