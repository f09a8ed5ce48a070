import { CodedError } from '@chirality/core'
import { expect, test } from 'vitest'
import { callError } from '../errors.ts'
import type { FleetService } from '../machines.ts'
import { onEachMachine } from './several.ts'

/** Sessions by the first letter of their machine; `x…` are of this one, and `x-bad` cannot be changed. */
function fleetWith(answers: Record<string, (ids: string[]) => Promise<unknown>>) {
  const calls: { machine: string; input: unknown }[] = []
  const fleet: Pick<FleetService, 'machineOf' | 'call'> = {
    machineOf: id => Object.keys(answers).find(name => id.startsWith(name.charAt(0))),
    call: async (machine, { input }) => {
      calls.push({ machine, input })
      return answers[machine]?.((input as { sessionIds: string[] }).sessionIds)
    },
  }
  const own: string[] = []
  const faults: unknown[] = []
  const shelve = (...sessionIds: string[]) =>
    onEachMachine(
      { machines: fleet as FleetService, host: { logFault: error => void faults.push(error) } },
      { path: 'sessions.shelve', input: { sessionIds, shelf: 'pinned' } as { sessionIds: string[] } },
      async id => {
        if (id === 'x-gone') throw callError('not-found', 'gone')
        if (id === 'x-bad') throw new Error('EACCES: a path')
        own.push(id)
      },
    )
  return { calls, own, faults, shelve }
}

const done = async (ids: string[]) => ({ done: ids, failed: [] })
const away = (name: string) => async () => {
  throw new CodedError('machine-away', `The machine ${name} cannot be reached now. Nothing was done.`)
}

test('each machine is called once, with its own sessions', async () => {
  const { calls, own, shelve } = fleetWith({ a: done, b: done })
  const outcome = await shelve('a1', 'x1', 'b1', 'a2', 'a1')
  expect(outcome).toEqual({ done: ['a1', 'x1', 'b1', 'a2'], failed: [] })
  expect(own).toEqual(['x1'])
  expect(calls).toEqual([
    { machine: 'a', input: { sessionIds: ['a1', 'a2'], shelf: 'pinned' } },
    { machine: 'b', input: { sessionIds: ['b1'], shelf: 'pinned' } },
  ])
})

test('a machine that is away keeps no other from it, and the answer says which are done', async () => {
  const { calls, own, shelve } = fleetWith({ a: done, b: away('b') })
  expect(await shelve('b1', 'a1', 'x1', 'b2')).toEqual({
    done: ['a1', 'x1'],
    failed: [
      {
        sessionIds: ['b1', 'b2'],
        code: 'machine-away',
        message: 'The machine b cannot be reached now. Nothing was done.',
      },
    ],
  })
  expect([calls.at(-1)?.machine, own]).toEqual(['a', ['x1']])
})

test('if none is done it is an error that does not say otherwise', async () => {
  const { shelve } = fleetWith({ b: away('b'), c: away('c') })
  await expect(shelve('b1', 'b2')).rejects.toMatchObject({
    code: 'machine-away',
    message: 'The machine b cannot be reached now. Nothing was done.',
  })
  await expect(shelve('b1', 'c1')).rejects.toMatchObject({
    code: 'machine-away',
    message:
      'The machine b cannot be reached now. Nothing was done. The machine c cannot be reached now. Nothing was done.',
  })
  await expect(shelve('x-gone')).rejects.toMatchObject({ code: 'not-found', message: 'gone' })
})

test('a session of this machine that fails keeps no other from it; the cause of an internal error is logged', async () => {
  const { own, faults, shelve } = fleetWith({})
  const outcome = await shelve('x1', 'x-gone', 'x-bad', 'x2')
  expect(own).toEqual(['x1', 'x2'])
  expect(outcome.done).toEqual(['x1', 'x2'])
  expect(outcome.failed).toEqual([
    { sessionIds: ['x-gone'], code: 'not-found', message: 'gone' },
    { sessionIds: ['x-bad'], code: 'internal', message: expect.not.stringContaining('EACCES') },
  ])
  expect(faults).toEqual([new Error('EACCES: a path')])
})

test('what another machine could not do is passed on, for its own sessions only', async () => {
  const failed = [{ sessionIds: ['a2', 'x1', 'b1'], code: 'not-found', message: 'gone' }]
  const { shelve } = fleetWith({ a: async () => ({ done: ['a1'], failed }), b: done })
  expect(await shelve('a1', 'a2', 'x1', 'b1')).toEqual({
    done: ['a1', 'x1', 'b1'],
    failed: [{ sessionIds: ['a2'], code: 'not-found', message: 'gone' }],
  })
})

test('an answer that is not as the contract says does not count as done', async () => {
  const { shelve } = fleetWith({ a: async () => ({ ok: 'sure' }) })
  await expect(shelve('a1')).rejects.toMatchObject({ code: 'machine-silent' })
})
