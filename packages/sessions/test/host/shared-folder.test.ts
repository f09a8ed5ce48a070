import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TurnEndReason } from '@chirality/core'
import { expect, test } from 'vitest'
import type { LiveSession } from '../../src/status/live-session.ts'
import { eventsOf, useHostWorld } from '../support/host-world.ts'
import { answers, ScriptedHarness, waits } from '../support/scripted-harness.ts'

const world = useHostWorld()

const toldOf = (session: LiveSession) =>
  eventsOf(session).flatMap(event =>
    event.type === 'status' && event.data?.sharedFolderWith ? [event.message] : [],
  )

test('a turn that starts while another session of the folder has one says so, each time', async () => {
  let end: (reason: TurnEndReason) => void = () => {}
  const first = new Promise<TurnEndReason>(resolve => {
    end = resolve
  })
  const scripts = [waits(first), answers('Two.'), answers('Elsewhere.'), answers('Again.'), answers('Alone.')]
  const host = world.host([new ScriptedHarness(scripts)])
  const elsewhere = join(world.root, 'elsewhere')
  mkdirSync(elsewhere)
  const open = async (root: string, title: string) =>
    host.session((await host.createSession(root, { title })).id)
  const [one, two] = [await open(world.project, 'Fix the parser'), await open(world.project, 'Write docs')]
  const other = await open(elsewhere, 'Elsewhere')

  await one.start('one')
  for (const session of [two, other, two]) {
    await session.start('go')
    await session.settled()
  }
  expect(toldOf(one)).toEqual([])
  expect(toldOf(other)).toEqual([])
  const message =
    'Another session ("Fix the parser") is at work in this folder. What one agent changes, the other may overwrite.'
  expect(toldOf(two)).toEqual([message, message])

  end('completed')
  await one.settled()
  await two.start('alone')
  await two.settled()
  expect(toldOf(two)).toHaveLength(2)
})
