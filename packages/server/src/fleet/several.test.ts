import { CodedError } from '@chirality/core'
import { expect, test } from 'vitest'
import { callError } from '../errors/call-error.ts'
import type { FleetService } from './fleet-service.ts'
import { onEachMachine } from './several.ts'

/** Sessions by the first letter of their machine; `x…` are of this one. */
function fleetWith(answers: Record<string, () => Promise<unknown>>) {
  const calls: { machine: string; input: unknown }[] = []
  const fleet: Pick<FleetService, 'machineOf' | 'call'> = {
    machineOf: id => Object.keys(answers).find(name => id.startsWith(name.charAt(0))),
    call: async (machine, { input }) => {
      calls.push({ machine, input })
      return answers[machine]?.()
    },
  }
  const own: string[][] = []
  const shelve = (...sessionIds: string[]) =>
    onEachMachine(
      fleet as FleetService,
      { path: 'sessions.shelve', input: { sessionIds, shelf: 'pinned' } as { sessionIds: string[] } },
      async ids => void own.push(ids),
    )
  return { calls, own, shelve }
}

const done = async () => undefined
const away = async () => {
  throw new CodedError('machine-away', 'The machine b cannot be reached now. Nothing was done.')
}

test('each machine is called once, with its own sessions', async () => {
  const { calls, own, shelve } = fleetWith({ a: done, b: done })
  await shelve('a1', 'x1', 'b1', 'a2', 'a1')
  expect(own).toEqual([['x1']])
  expect(calls).toEqual([
    { machine: 'a', input: { sessionIds: ['a1', 'a2'], shelf: 'pinned' } },
    { machine: 'b', input: { sessionIds: ['b1'], shelf: 'pinned' } },
  ])
})

test('a machine that is away keeps no other from it, and the error says how many are done', async () => {
  const { calls, own, shelve } = fleetWith({ a: done, b: away })
  await expect(shelve('b1', 'b2')).rejects.toMatchObject({
    ...{ code: 'machine-away', message: 'The machine b cannot be reached now. Nothing was done.' },
  })
  await expect(shelve('b1', 'a1', 'x1')).rejects.toMatchObject({
    code: 'machine-away',
    message:
      'The machine b cannot be reached now. Nothing was done. This is about 1 of 3 sessions; with the others it is done.',
  })
  expect([calls.at(-1)?.machine, own]).toEqual(['a', [['x1']]])
})

test('an answer that is not as the contract says does not count as done', async () => {
  const { shelve } = fleetWith({ a: async () => ({ ok: 'sure' }) })
  await expect(shelve('a1')).rejects.toMatchObject({ code: 'machine-silent' })
})

test('an error of this machine is told with its own code', async () => {
  const { calls } = fleetWith({ a: done })
  const failing = onEachMachine(
    undefined,
    { path: 'sessions.discard', input: { sessionIds: ['x1'] } },
    async () => {
      throw callError('not-found', 'gone')
    },
  )
  await expect(failing).rejects.toMatchObject({ code: 'not-found', message: 'gone' })
  expect(calls).toEqual([])
})
