import { existsSync } from 'node:fs'
import path from 'node:path'
import { initRepository } from '@chirality/fixtures'
import { expect, test } from 'vitest'
import { connect, markerOf, open } from './support/mcp-program.ts'

const TASKS = '---\nharness: messages-api\n---\n- [ ] Say one\n  checks: touch checked.txt\n'

async function openWith(tasks: string) {
  const opened = await open({
    answers: [{ tool: 'write', input: { file_path: 'one.txt', content: 'one' } }],
    otherwise: 'Done.',
  })
  const repository = initRepository(opened.world.project)
  repository.write('TASKS.md', tasks)
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  return opened
}

test('a program starts a loop and reads it; a command that nobody allowed is not run, and waits for the user', async () => {
  const { world, server, call } = await openWith(TASKS)
  expect((await call('list_loops')).json).toEqual({ loops: [] })
  const { json } = await call('start_loop', { list: 'TASKS.md' })
  const { loop_id } = json as { loop_id: string }
  expect((await call('await_loop', { loop_id })).json).toMatchObject({
    ...{ loop_id, list: 'TASKS.md', state: 'blocked', tasks_by_state: { parked: 1, working: 0 } },
  })
  expect((await call('read_loop', { loop_id })).json).toMatchObject({
    tasks: [{ title: 'Say one', state: 'parked', waits_for_commands: ['touch checked.txt'], turns: 0 }],
  })
  expect((await call('list_loops')).json).toMatchObject({ loops: [{ loop_id, state: 'blocked' }] })
  expect(world.model.requests).toEqual([])
  expect(existsSync(path.join(world.project, 'checked.txt'))).toBe(false)
  expect(server.faults).toEqual([])
})

test('a list that needs no commands is worked through', async () => {
  const { call, server, world } = await openWith('---\nharness: messages-api\n---\n- [ ] Say one\n')
  const { json } = await call('start_loop', { list: 'TASKS.md' })
  const { loop_id } = json as { loop_id: string }
  expect((await call('await_loop', { loop_id, timeout_seconds: 300 })).json).toMatchObject({
    ...{ state: 'done', tasks_by_state: { proved: 0, changed_no_check: 1 } },
  })
  // The file is on the branch of the loop, for the user to accept.
  expect(existsSync(path.join(world.project, 'one.txt'))).toBe(false)
  expect(server.faults).toEqual([])
})

test('loops of other projects, lists outside of the project, and an agent that would start one are refused', async () => {
  const { call, server, world, start } = await openWith(TASKS)
  const refusals = [
    await call('read_loop', { loop_id: 'none' }),
    await call('await_loop', { loop_id: 'none' }),
    await call('await_loop', { loop_id: '../x' }),
    await call('start_loop', { list: '../TASKS.md' }),
    await call('start_loop', { list: '/etc/passwd' }),
    await call('start_loop', { list: 'MISSING.md' }),
    await call('start_loop', { list: '' }),
  ]
  for (const refusal of refusals)
    expect(refusal).toMatchObject({ isError: true, text: expect.stringMatching(/\w/) })

  const sessionId = await start({ prompt: 'Go.' })
  const agent = await connect(server, world.project, markerOf(world.project, sessionId))
  expect(await agent.call('start_loop', { list: 'TASKS.md' })).toMatchObject({
    ...{ isError: true, text: expect.stringContaining('Only the user starts loops') },
  })
  expect((await call('list_loops')).json).toEqual({ loops: [] })
  expect(server.faults).toEqual([])
})
