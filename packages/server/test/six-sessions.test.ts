import { readFileSync } from 'node:fs'
import path from 'node:path'
import { initRepository } from '@chirality/fixtures'
import type { RecordedRequest } from '@chirality/scripted-model'
import { expect, test } from 'vitest'
import { createWorld, serveWorld } from './support/agents.ts'
import { connect } from './support/trpc-client.ts'

interface Worker {
  title: string
  harness: 'claude-code' | 'codex'
  /** What its agent runs. */
  command: string
  files: string[]
  /** Who changed the same file, and whether the two would not merge. */
  warns: Record<string, boolean>
}

const WORKERS: readonly Worker[] = [
  {
    title: 'One',
    harness: 'claude-code',
    command: change(1, 'a.txt'),
    files: ['a.txt'],
    warns: { Two: true },
  },
  { title: 'Two', harness: 'codex', command: change(1, 'a.txt'), files: ['a.txt'], warns: { One: true } },
  {
    ...{ title: 'Three', harness: 'claude-code', command: `${change(2, 'b.txt')} && echo new > three.txt` },
    ...{ files: ['b.txt', 'three.txt'], warns: { Four: false } },
  },
  {
    title: 'Four',
    harness: 'codex',
    command: change(39, 'b.txt'),
    files: ['b.txt'],
    warns: { Three: false },
  },
  { title: 'Five', harness: 'claude-code', command: change(9, 'c.txt'), files: ['c.txt'], warns: {} },
  {
    title: 'Six',
    harness: 'codex',
    command: 'rm d.txt && echo new > six.txt',
    files: ['d.txt', 'six.txt'],
    warns: {},
  },
]

function change(line: number, file: string): string {
  return `sed -i "${line}s/.*/$(basename $(dirname $PWD))/" ${file}`
}

test('six sessions of two harnesses at work at once in six worktrees each see only their own changes', {
  timeout: 600_000,
}, async () => {
  const world = await createWorld({
    routes: WORKERS.map(({ title, harness, command }) => ({
      when: { conversationContains: `You are ${title}.` },
      answers: [
        // Held until all six wait for their model, and again until all six have changed their files.
        harness === 'codex'
          ? { tool: 'exec_command', input: { cmd: command }, stallAfter: 0 }
          : { tool: 'Bash', input: { command }, stallAfter: 0 },
        { text: `${title} is done.`, stallAfter: 0 },
      ],
    })),
  })
  const repository = initRepository(world.project)
  const lines = Array.from({ length: 40 }, (_, index) => `line ${index + 1}\n`).join('')
  for (const file of ['a.txt', 'b.txt', 'c.txt', 'd.txt']) repository.write(file, lines)
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  repository.write('c.txt', "a person's own words\n")
  const untouched = repository.run('status', '--porcelain')
  const server = await serveWorld(world)
  const { client } = connect(server)
  const { project } = world

  const sessions = await Promise.all(
    WORKERS.map(async worker => {
      const { title, harness } = worker
      const created = await client.sessions.create.mutate({ project, title, harness, worktree: {} })
      return { ...worker, live: await server.host.session(created.id), sessionId: created.id }
    }),
  )
  expect(new Set(sessions.map(({ live }) => live.status.worktree?.folder)).size).toBe(6)
  const turns = await Promise.all(
    sessions.map(({ sessionId, title, harness }) =>
      client.turns.start.mutate({
        ...{ sessionId, message: `You are ${title}.` },
        options:
          harness === 'codex' ? { permissionMode: 'bypassPermissions' } : { autoApproveTools: ['Bash'] },
      }),
    ),
  )
  const allHeldAt = async (answer: string) => {
    const isHeld = ({ served, state }: RecordedRequest) => state === 'stalled' && served.endsWith(answer)
    await world.model.waitForRequest(() => world.model.requests.filter(isHeld).length === 6)
    expect(server.host.statuses().filter(({ phase }) => phase !== 'idle')).toHaveLength(6)
  }
  await allHeldAt('answers[0]')
  world.model.release()
  await allHeldAt('answers[1]')

  // All six have changed their files, and none of their turns is over.
  for (const session of sessions) {
    const diff = await client.files.diff.query({ project, sessionId: session.sessionId })
    expect([session.title, diff?.files.map(file => file.path)]).toEqual([session.title, session.files])
  }
  world.model.release()
  await Promise.all(sessions.map(({ live }) => live.settled()))

  for (const [index, { sessionId, title, files, warns }] of sessions.entries()) {
    const { turnId } = turns[index] ?? { turnId: '' }
    const changed = await client.files.turnDiff.query({ sessionId, turnId })
    expect([title, changed.source, changed.files.map(file => file.path)]).toEqual([title, 'git', files])
    const overlaps = await client.worktrees.overlaps.query({ sessionId })
    const warned = overlaps.map(other => [other.title, other.files.some(({ conflicts }) => conflicts)])
    expect([title, Object.fromEntries(warned)]).toEqual([title, warns])
  }
  expect(repository.run('status', '--porcelain')).toBe(untouched)
  expect(readFileSync(path.join(project, 'c.txt'), 'utf8')).toBe("a person's own words\n")
  expect(repository.run('fsck', '--no-dangling')).toBe('')
})
