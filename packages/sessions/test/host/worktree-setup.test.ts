import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { initRepository } from '@chirality/fixtures'
import { expect, test } from 'vitest'
import { allowWorkspaceSetup } from '../../src/turns/set-up-worktree.ts'
import { eventsOf, useHostWorld } from '../support/host-world.ts'
import { answers, ScriptedHarness } from '../support/scripted-harness.ts'

const world = useHostWorld()

test('a set-up that is stopped while files are copied is done by the next turn, which also tells what the agent missed', async () => {
  const repository = initRepository(world.project)
  repository.write('.gitignore', '.env\n.chirality\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  repository.write('.env', 'A=1\n')
  repository.write('.chirality/workspace.yaml', "copy: [.env]\nvariables: { PORT: '{port}' }\n")
  await allowWorkspaceSetup(world.project, { home: world.data })
  const harness = new ScriptedHarness([answers('Done.')])
  const host = world.host([harness])
  const { id } = await host.createSession(world.project, { worktree: {} })
  const session = await host.session(id)
  const { id: worktreeId = '', folder } = session.status.worktree ?? {}
  await session.tellAgent({ note: 'A change was taken back.', shown: 'Taken back.' })

  let begun = () => {}
  const hasBegun = new Promise<void>(resolve => {
    begun = resolve
  })
  const steps = [
    () => session.interrupt(),
    () => session.tellAgent({ note: 'Another, meanwhile.', shown: 'Taken back.' }),
  ]
  const noteSetup = host.worktrees.noteSetup.bind(host.worktrees)
  host.worktrees.noteSetup = async (worktree, setup) => {
    await noteSetup(worktree, setup)
    await hasBegun
    // The files are copied after this.
    if (setup?.state === 'running') await steps.shift()?.()
  }

  await session.start('Go')
  begun()
  await session.settled()
  expect(eventsOf(session).findLast(({ type }) => type === 'turn:end')).toMatchObject({
    reason: 'interrupted',
  })
  expect(harness.turns).toEqual([])
  expect((await host.worktrees.find(worktreeId))?.setup).toBeUndefined()
  expect(await session.untold()).toEqual(['A change was taken back.'])

  await session.start('Go on')
  await session.settled()
  expect(readFileSync(join(folder ?? '', '.env'), 'utf8')).toBe('A=1\n')
  expect((await host.worktrees.find(worktreeId))?.setup).toMatchObject({ state: 'done' })
  expect(harness.turns).toMatchObject([
    {
      message: expect.stringContaining('A change was taken back.'),
      opts: { env: { PORT: expect.stringMatching(/^\d+$/) } },
    },
  ])
  expect(await session.untold()).toEqual(['Another, meanwhile.'])
})

test('a set-up that is saved while an agent works in a worktree is for new worktrees', async () => {
  const repository = initRepository(world.project)
  repository.run('commit', '-q', '--allow-empty', '-m', 'First')
  const host = world.host([new ScriptedHarness(['One.', 'Two.', 'Three.'].map(text => answers(text)))])
  const open = async () => host.session((await host.createSession(world.project, { worktree: {} })).id)
  const turn = async (session: Awaited<ReturnType<typeof open>>) => {
    await session.start('Go')
    await session.settled()
    return existsSync(join(session.status.worktree?.folder ?? '', 'made.txt'))
  }
  const before = await open()
  expect(await turn(before)).toBe(false)
  await host.ownSetups.set(world.project, { command: 'touch made.txt' })
  expect(await turn(before)).toBe(false)
  expect(await turn(await open())).toBe(true)
})
