import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { call, change, cloneProject, startHub, startWorker } from './support/fleet.ts'
import { asked } from './support/requests.ts'
import { jsonLines } from './support/running-command.ts'
import { createWorld } from './support/world.ts'

test('commands of a hub that name a session of another machine act on that session, or say where it is', async () => {
  const world = await createWorld({
    answers: ['One heron.', { tool: 'Bash', input: { command: 'echo here > made.txt' } }, 'Made.'],
    otherwise: 'ok',
  })
  const [clone = ''] = cloneProject(world)
  const hub = await startHub(world, [clone])
  const worker = await startWorker(world, hub, { name: 'worker', projects: [world.project] })
  const { id } = await change<{ id: string }>(hub, 'sessions.create', {
    ...{ project: world.project, machine: 'worker', harness: 'claude-code', title: 'Birds' },
  })
  // A folder that is no project: nothing may begin there.
  const elsewhere = path.join(world.home, 'elsewhere')
  mkdirSync(elsewhere)
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await world.start(args, { ...hub.options, cwd: elsewhere }).result()
    return { code, stdout, stderr }
  }

  const first = await run('run', '--json', '--session', id, 'How many?')
  expect(first).toMatchObject({ code: 0, stderr: '' })
  const events = jsonLines(first.stdout)
  expect(events[0]).toMatchObject({ sessionId: id, event: { type: 'turn:start', message: 'How many?' } })
  expect(events.filter(({ event }) => event.type === 'turn:end')).toMatchObject([
    { event: { reason: 'completed' } },
  ])
  expect(first.stdout).toContain('One heron.')

  // The beginning of its id, and text for people; what nobody allowed is denied there, too.
  const second = await run('run', '--session', id.slice(0, 13), '--budget-usd', '5', 'Make it.')
  expect(second.code).toBe(0)
  expect(second.stdout).toContain('Made.')
  expect(existsSync(path.join(world.project, 'made.txt'))).toBe(false)
  expect(JSON.stringify(asked(world.model).at(-1)?.messages)).toContain('How many?')
  const there = await call<{ turnCount: number; settings: object }>(worker, 'sessions.get', { sessionId: id })
  expect(there).toMatchObject({ turnCount: 2, settings: { budgetUsd: 5 } })

  // Its limits and forks.
  expect((await run('budget', '--session', id, '--json')).stdout).toContain('"limit":5')
  const set = await run('budget', 'set', '--session', id, '--usd', '7', '--json')
  expect(set).toMatchObject({ code: 0, stdout: expect.stringContaining('"limit":7') })
  const fork = await run('sessions', 'fork', id, '--json')
  expect(fork.code).toBe(0)
  expect(JSON.parse(fork.stdout)).toMatchObject({
    forkedFrom: { sessionId: id },
    machine: { name: 'worker' },
  })
  expect((await run('sessions', 'show', id)).stdout).toContain(
    `Continue with: chirality run --session ${id} "…"`,
  )

  // A new session there, or where there is room, in the clone of the project.
  const placed = await run('run', '--json', '--where', 'worker', '--project', clone, '--worktree', 'Hi')
  expect(placed).toMatchObject({ code: 0, stderr: '' })
  const [{ sessionId = '' } = {}] = jsonLines(placed.stdout)
  const made = await call<{ projectRoot: string; worktree: unknown }>(worker, 'sessions.get', { sessionId })
  expect(made).toMatchObject({ projectRoot: world.project, worktree: expect.anything() })
  expect((await run('run', '--where', 'any', '--project', clone, 'Hi')).code).toBe(0)
  for (const [args, why] of [
    [['--where', 'none', '--project', clone], 'No machine of the fleet is called none'],
    [['--where', 'worker', '--project', elsewhere], 'worker does not fit: '],
    [['--where', 'worker', '--session', id], '--where is for a new session'],
  ] as const)
    expect(await run('run', ...args, 'Hi')).toMatchObject({ code: 2, stderr: expect.stringContaining(why) })

  // What cannot be meant is refused with the machine's name.
  expect((await run('run', '--session', id, '--project', clone, 'Hi')).stderr).toContain(
    'the session is on worker',
  )
  expect((await run('run', '--session', id, '--trust-project', 'Hi')).stderr).toContain(
    'the session is on worker',
  )
  expect((await run('sessions', 'import', id)).stderr).toContain('is a session of the machine worker')
  const requests = asked(world.model).length
  const unknown = await run('run', '--session', randomUUID(), 'Hi')
  expect(unknown).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('There is no session'),
  })

  // Without its hub, and without its machine, nothing runs either.
  worker.command.signal('SIGKILL')
  await worker.command.result()
  const lost = await run('run', '--session', id, 'Hi')
  expect(lost.code).toBe(1)
  expect(lost.stderr).toMatch(/machine worker/)
  hub.command.signal('SIGINT')
  await hub.command.result()
  const alone = await run('run', '--session', id, 'Hi')
  expect(alone).toMatchObject({ code: 2, stdout: '' })
  expect(alone.stderr).toContain('This session is on the machine worker, and no hub runs here')
  expect(asked(world.model)).toHaveLength(requests)
  expect(existsSync(path.join(elsewhere, '.chirality'))).toBe(false)
}, 600_000)
