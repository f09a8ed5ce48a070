import { expect, test } from 'vitest'
import { jsonLines } from './support/running-command.ts'
import { stored, turn } from './support/stored.ts'
import { createWorld } from './support/world.ts'

test('shows a session again, all at once or a thousand times as fast', async () => {
  const world = await createWorld()
  const { id } = await stored(world, 'Birds')
  for (const speed of ['max', '0', '1000']) {
    const { code, stdout, stderr } = await world.run(['replay', id.slice(0, 8), '--speed', speed])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe('\n> Where is the heron?\nIn the lake.\n')
  }
})

test('--json prints the envelopes as they are kept', async () => {
  const world = await createWorld()
  const { id } = await stored(world, 'Birds')
  const { stdout } = await world.run(['replay', id, '--json', '--speed', 'max'])
  const envelopes = jsonLines(stdout)
  expect(envelopes.map(({ seq, event }) => [seq, event.type])).toEqual([
    [1, 'turn:start'],
    [2, 'chat:message'],
    [3, 'turn:end'],
  ])
  expect(envelopes[1]?.at).toBe('2026-01-01T00:00:02.000Z')
})

test('waits as the session did, until it is told to end', async () => {
  const world = await createWorld()
  const { id } = await stored(world, 'Birds', [...turn('One?', 'Two.'), ...turn('Three?', 'Four.')])
  // At this speed the second event is due in a quarter of an hour.
  const command = world.start(['replay', id, '--speed', '0.001'])
  await command.shows('> One?')
  command.signal('SIGINT')
  const { code, stdout } = await command.result()
  expect({ code, stdout }).toEqual({ code: 130, stdout: '\n> One?\n' })
})
