import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { FleetEvent } from '@chirality/centre'
import { ODD_FILES, putOddFile } from '@chirality/fixtures'
import { type JournalEntry, LoopStore, parseTaskList, writeOwnLoop } from '@chirality/loops'
import { expect, test } from 'vitest'
import { createWorld } from './support/agents.ts'
import { startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'

const KINDS = Object.keys(ODD_FILES)

test('loops that cannot be read or believed are named, and the live list, loops and turns of other projects go on', async () => {
  const world = await createWorld({ answers: ['All is well.'] })
  const { project, loops } = await oddProject(world.project)
  const home = path.join(world.home, 'chirality')
  const odd = new LoopStore(makeFolder(project), home)
  for (const [at, kind] of KINDS.entries()) {
    // What a clone brings: nothing of it is read.
    putOddFile(kind, path.join(loops, `clone-${at}`, 'journal.ndjson'))
    writeOwnLoop(home, `odd-${at}`, { project, allowed: [] })
    const journal = odd.journal(`odd-${at}`)
    journal.add(startOf(`odd-${at}`, project))
    journal.close()
    putOddFile(kind, path.join(odd.folder(`odd-${at}`), 'journal.ndjson'))
  }
  writeOwnLoop(home, 'well-1', { project: world.project, allowed: [] })
  const well = new LoopStore(world.project, home).journal('well-1')
  well.add(startOf('well-1', world.project))
  well.close()
  const harnesses = world.harnesses()
  const server = await startTestServer({ harnesses, projects: [project, world.project], home })
  const { client } = connect(server)

  const all = await client.loops.list.query({})
  const named = (name: string) => all.filter(loop => loop.project === project && loop.loopId.startsWith(name))
  expect(
    named('odd-')
      .map(({ loopId }) => loopId)
      .sort(),
  ).toEqual(KINDS.map((_, n) => `odd-${n}`).sort())
  for (const { end } of named('odd-'))
    expect(end?.why).toMatch(/cannot be read: |Not all of it can be believed: /)
  expect(
    named('clone-')
      .map(({ loopId }) => loopId)
      .sort(),
  ).toEqual(KINDS.map((_, n) => `clone-${n}`).sort())
  for (const { end, warnings } of named('clone-'))
    expect([end?.why, warnings]).toEqual([expect.stringContaining('nothing in it is checked'), [end?.why]])
  expect(all.filter(loop => loop.project === world.project)).toMatchObject([
    { loopId: 'well-1', end: null, warnings: [], mustSay: false },
  ])
  for (const { loopId } of [...named('odd-'), ...named('clone-')]) {
    await expect(client.loops.get.query({ loopId })).resolves.toMatchObject({ loopId })
    await expect(client.loops.resume.mutate({ loopId })).rejects.toThrow(
      /cannot be read|not as this machine wrote|nothing in it is checked/,
    )
  }
  const events: FleetEvent[] = []
  const subscription = client.fleet.events.subscribe(undefined, {
    onData: event => events.push(event as FleetEvent),
  })
  await expect.poll(() => events.map(({ type }) => type)).toEqual(['snapshot', 'loops'])
  subscription.unsubscribe()
  const { id } = await client.sessions.create.mutate({ project: world.project, harness: 'messages-api' })
  await client.turns.start.mutate({ sessionId: id, message: 'Go.' })
  await expect
    .poll(async () => (await client.sessions.get.query({ sessionId: id })).lastTurn, {
      timeout: 60_000,
    })
    .toBe('completed')
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
})

test.each(['a link out of the project', 'a link to itself', 'odd lines', 'a FIFO that nobody writes'])(
  'a folder of loops that is %s hides no other project, and the fault names it',
  async kind => {
    const world = await createWorld({ answers: [] })
    const { project } = await oddProject(world.project)
    putOddFile(kind, path.join(project, '.chirality', 'loops'))
    const server = await startTestServer({ projects: [project, world.project] })
    const { client } = connect(server)
    expect(await client.loops.list.query({})).toEqual([])
    expect(await client.loops.list.query({ project })).toEqual([])
    expect(server.faults.map(String)).toEqual([expect.stringContaining(path.join(project, '.chirality'))])
  },
)

test('files of a task that are FIFOs or links are not read, however often they are asked for', async () => {
  const world = await createWorld({ answers: [] })
  const { project } = await oddProject(world.project)
  const home = path.join(world.home, 'chirality')
  const store = new LoopStore(makeFolder(project), home)
  const task = {
    ...{ id: 'one', title: 'One', notes: '', groups: [], checks: [], expect: 'diff' as const, dependsOn: [] },
    ...{ ticked: false, line: 1 },
  }
  writeOwnLoop(home, 'odd-1', { project, allowed: [] })
  const journal = store.journal('odd-1')
  journal.add(
    startOf('odd-1', project),
    { type: 'task:start', task, sessionId: 's', worktreeId: 'w', base: 'b' },
    { type: 'loop:end', reason: 'blocked', why: '' },
  )
  journal.close()
  const server = await startTestServer({ projects: [project], home })
  const { client } = connect(server)
  for (const kind of KINDS.filter(name => !/odd|version|text|values|keys/.test(name))) {
    for (const folder of [store.folder('odd-1'), store.copy('odd-1').folder])
      for (const name of ['receipts/one.md', 'receipts/one.json', 'prompts/one-0.md'])
        putOddFile(kind, path.join(folder, name))
    const asked = Array.from({ length: 12 }, () => client.loops.task.query({ loopId: 'odd-1', task: 'one' }))
    for (const details of await Promise.all(asked))
      expect(details).toMatchObject({ prompt: null, receipt: null, receiptText: null })
    await client.loops.get.query({ loopId: 'odd-1' })
  }
}, 120_000)

function startOf(loopId: string, projectRoot: string): JournalEntry {
  const { settings } = parseTaskList('- [ ] One\n', 'TASKS.md')
  return {
    ...{ type: 'loop:start', loopId, list: path.join(projectRoot, 'TASKS.md'), projectRoot, base: 'b' },
    ...{ baseBranch: 'main', worktreeId: `loop-${loopId}`, settings },
  }
}

function makeFolder(folder: string): string {
  mkdirSync(folder, { recursive: true })
  return folder
}

async function oddProject(beside: string): Promise<{ project: string; loops: string }> {
  const project = `${beside}-odd-${Math.random().toString(36).slice(2)}`
  const loops = path.join(project, '.chirality', 'loops')
  mkdirSync(path.dirname(loops), { recursive: true })
  return { project, loops }
}
