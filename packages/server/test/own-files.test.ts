import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { tracedProcesses } from '@chirality/centre'
import { initRepository } from '@chirality/fixtures'
import { TurnTrees } from '@chirality/workspaces'
import { expect, test } from 'vitest'
import { sessionWith, startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'

test.each(['__proto__', 'constructor', 'toString', 'no-such-turn'])(
  '%s is no turn, and nobody’s fault',
  async turnId => {
    const server = await startTestServer()
    initRepository(server.project)
    const { id: sessionId } = await sessionWith(server, 1)
    const { client } = connect(server)
    const error = await client.files.turnDiff.query({ sessionId, turnId }).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ data: { code: 'NOT_FOUND', reason: 'turn-missing' } })
    expect(server.faults).toEqual([])
  },
)

/** What an agent, or a repository that was cloned, may have put where a file of ours is. */
const INSTEAD: [string, (file: string) => void][] = [
  ['a link to what has no end', file => symlinkSync('/dev/zero', file)],
  ['a pipe that nobody writes to', file => void execFileSync('mkfifo', [file])],
  ['a folder', file => mkdirSync(file)],
  [
    'a file of a gigabyte',
    file => {
      writeFileSync(file, '')
      truncateSync(file, 2 ** 30)
    },
  ],
]

test.each(INSTEAD)('%s is not read, and holds nobody up', async (_what, put) => {
  const { project } = await startTestServer()
  const state = path.join(project, '.chirality', 'state')
  for (const kind of ['snapshots', 'turns']) {
    mkdirSync(path.join(state, kind), { recursive: true, mode: 0o700 })
    put(path.join(state, kind, 'some-session.json'))
  }
  expect(await tracedProcesses(project, 'some-session')).toBeUndefined()
  const trees = new TurnTrees()
  expect(await trees.read(project, 'some-session', 'turn')).toBeUndefined()
  rmSync(path.join(state, 'snapshots', 'some-session.json'), { recursive: true })
  const place = { sessionId: 'some-session', turnId: 'turn', tree: 'a'.repeat(40) }
  await trees.write(project, { ...place, when: 'before', at: 1 })
  await trees.write(project, { ...place, when: 'after', at: 2, endSeq: 3 })
  expect(await trees.read(project, 'some-session', 'turn')).toEqual({
    ...{ before: place.tree, beforeAt: 1, after: place.tree, afterAt: 2, endSeq: 3 },
  })
})

test.each(INSTEAD)('%s is no task list, and holds up neither the lists nor a plan', async (_what, put) => {
  const server = await startTestServer()
  const { project } = server
  const repository = initRepository(project)
  repository.write('TASKS.md', '- [ ] One\n')
  put(path.join(project, 'todo.md'))
  // git lists a link, whatever it leads to.
  symlinkSync('todo.md', path.join(project, 'plan.md'))
  const { client } = connect(server)
  expect(await client.loops.files.query({ project })).toEqual([
    { path: 'TASKS.md', open: 1, done: 0, problem: null },
  ])
  for (const list of ['todo.md', 'plan.md']) {
    const why = await client.loops.plan.query({ project, list }).then(
      ({ problems }) => problems[0]?.kind,
      (error: { data?: { reason?: string } }) => error.data?.reason,
    )
    expect(why).toMatch(/^(?:list|outside-project)$/)
  }
  expect(server.faults).toEqual([])
})
