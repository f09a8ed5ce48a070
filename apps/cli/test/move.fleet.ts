import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Envelope } from '@chirality/core'
import { expect, test } from 'vitest'
import { call, change, cloneProject, type Server, startHub, startWorker } from './support/fleet.ts'
import { createWorld } from './support/world.ts'

async function idle(server: Server, sessionId: string): Promise<void> {
  await expect
    .poll(async () => (await call<{ status: string }>(server, 'sessions.get', { sessionId })).status)
    .toBe('idle')
}

test('a session moves from a worker to the hub and back, with its conversation and its files', async () => {
  const world = await createWorld({
    answers: ['I noted the heron.', 'It is a heron.', 'Still a heron.'],
    otherwise: 'ok',
  })
  const [clone = ''] = cloneProject(world)
  const other = path.join(world.home, 'other')
  mkdirSync(other)

  const hub = await startHub(world, [clone, other])
  const worker = await startWorker(world, hub, { name: 'worker', projects: [world.project] })
  const { id } = await change<{ id: string }>(worker, 'sessions.create', { project: world.project })
  await change(worker, 'turns.start', { sessionId: id, message: 'The bird is a heron.' })
  const texts = async () =>
    (await call<Envelope[]>(hub, 'sessions.history', { sessionId: id }).catch(() => [])).flatMap(
      ({ event }) => (event.type === 'chat:message' ? [event.text] : []),
    )
  await expect.poll(texts).toEqual(['I noted the heron.'])
  await idle(worker, id)
  writeFileSync(path.join(world.project, 'bird.txt'), 'heron\n')

  await expect(change(hub, 'fleet.move', { sessionId: id, to: 'nobody' })).rejects.toThrow(
    /move-failed: .*nobody/,
  )
  await expect(change(worker, 'fleet.move', { sessionId: id, to: 'hub' })).rejects.toThrow(
    /fleet-refused: .*hub/,
  )
  const { stdout } = await world.start(['fleet', 'move', id, '--to', 'hub'], hub.options).result()
  expect(stdout).toContain('on hub now')

  // Only the hub has it, and its agent goes on.
  const where = async () => {
    const { sessions } = await call<{ sessions: { id: string; machine?: { name: string } }[] }>(
      hub,
      'sessions.list',
      {},
    )
    return sessions.map(session => [session.id, session.machine?.name ?? 'hub'])
  }
  await expect.poll(where).toEqual([[id, 'hub']])
  expect(existsSync(path.join(world.project, '.chirality', 'events', `${id}.ndjson`))).toBe(false)
  const before = world.model.requests.length
  await change(hub, 'turns.start', { sessionId: id, message: 'Which bird?' })
  await expect.poll(texts).toEqual(['I noted the heron.', 'It is a heron.'])
  await idle(hub, id)
  const bodies = world.model.requests.slice(before).map(({ body }) => JSON.stringify(body))
  expect(bodies.some(body => body.includes('I noted the heron.') && body.includes('Which bird?'))).toBe(true)
  const { worktree } = await call<{ worktree: string }>(hub, 'sessions.get', { sessionId: id })
  const folder = path.join(hub.home, 'worktrees', worktree, 'project')
  expect(readFileSync(path.join(folder, 'bird.txt'), 'utf8')).toBe('heron\n')

  // And back, with what is there for it.
  const { code } = await world.start(['fleet', 'drain', 'hub', '--to', 'worker'], hub.options).result()
  expect(code).toBe(0)
  await expect.poll(where).toEqual([[id, 'worker']])
  await change(hub, 'turns.send', { sessionId: id, message: 'And now?' })
  await expect.poll(texts).toEqual(['I noted the heron.', 'It is a heron.', 'Still a heron.'])
  for (const { command } of [worker, hub]) {
    command.signal('SIGINT')
    expect((await command.result()).code).toBe(0)
  }
})
