import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findProjectOwner } from '../../src/lock/project-lock.ts'
import { eventsOf, untilEvent, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()

function git(...args: string[]): void {
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: world.root, GIT_CONFIG_NOSYSTEM: '1' }
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], {
    cwd: world.project,
    env,
  })
}

/** A test whose file never comes fails by its time limit. */
async function untilThere(file: string): Promise<void> {
  while (!existsSync(file)) await new Promise(resolve => setTimeout(resolve, 10))
}

test('git clean -fdx in the middle of a turn: everything is back, and nothing is lost', async () => {
  const model = await world.model({
    answers: [{ text: 'Working on it, slowly.', chunkChars: 3, stallAfter: 3 }, 'Second.'],
  })
  writeFileSync(join(world.project, 'README.md'), 'A project.\n')
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'First')
  const host = world.host([world.claude(model)])
  const { id } = await host.createSession(world.project)
  const session = await host.session(id)
  await session.start('Go')
  await session.send('And then')
  await model.waitForRequest(request => request.state === 'stalled')
  await untilEvent(session, ({ type }) => type === 'chat:delta')
  git('clean', '-fdxq')
  expect(existsSync(world.file())).toBe(false)

  // While the turn runs: its record and the queue, without which a crash now would lose both.
  await untilThere(world.file('state', 'turns', `${id}.json`))
  await untilThere(world.file('state', 'queue', `${id}.json`))
  await untilThere(world.file('sessions', `${id}.json`))
  model.release()
  await session.settled()
  const events = eventsOf(session)
  expect(events.flatMap(event => (event.type === 'turn:start' ? [event.message] : []))).toEqual([
    'Go',
    'And then',
  ])
  expect(events.filter(({ type }) => type === 'turn:end')).toMatchObject([
    { reason: 'completed' },
    { reason: 'completed' },
  ])
  const text = events.flatMap(event => (event.type === 'chat:delta' ? [event.text] : [])).join('')
  expect(text).toBe('Working on it, slowly.Second.')
  expect(events.some(event => event.type === 'status' && event.message.includes('deleted'))).toBe(true)
  expect(await host.store.resume(id)).toMatchObject({ turnCount: 2, status: 'idle', lastTurn: 'completed' })
  expect(readdirSync(world.file('state', 'turns'))).toEqual([])
  while ((await findProjectOwner(world.project)) === undefined)
    await new Promise(resolve => setTimeout(resolve, 10))
})
