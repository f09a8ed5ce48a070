import { CodedError } from '@chirality/core'
import { JetStreamError } from '@nats-io/jetstream'
import { TimeoutError } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { inWords } from '../src/engine/fault-words.ts'
import { Machines } from '../src/machines.ts'
import { choose } from '../src/placement/place.ts'

test('a session placed on a machine counts before its beat says so, and no longer than two beats', () => {
  const machines = new Machines('hub')
  machines.connected(true)
  const agents = [{ id: 'a', name: 'A', installed: true, loggedIn: true, version: null }]
  const repositories = [{ root: '/p', key: 'p' }]
  const beats = (busy: number) => {
    const said = { role: 'worker', version: '1', labels: [], slots: 4, busy, load: 0, agents, repositories }
    for (const name of ['w1', 'w2', 'w3'])
      machines.heard(name, Buffer.from(JSON.stringify({ ...said, projects: ['/p'] })), true)
  }
  const next = () => {
    const listed = machines.forWork(machines.list())
    const { machine } = choose({ agent: 'a', project: 'p', labels: [] }, listed)
    if (machine !== null) machines.placed(machine)
    return machine
  }
  beats(0)
  const counted = (names: (string | null)[]) => names.sort()
  expect(counted(Array.from({ length: 6 }, next))).toEqual(['w1', 'w1', 'w2', 'w2', 'w3', 'w3'])
  // A beat that was on its way does not say it; the next one does, and nothing is counted twice.
  beats(0)
  expect(counted(Array.from({ length: 3 }, next))).toEqual(['w1', 'w2', 'w3'])
  beats(2)
  const busy = () => machines.forWork(machines.list()).map(one => one.busy)
  expect(busy()).toEqual([3, 3, 3])
  beats(3)
  expect(busy()).toEqual([3, 3, 3])
  beats(0)
  expect(busy()).toEqual([0, 0, 0])
  // The current turns of this machine count, whatever its last beat said.
  machines.said({ ...machines.list()[0], spent: [] } as unknown as Parameters<Machines['said']>[0])
  expect(machines.forWork(machines.list(), 2).find(one => one.isThis)?.busy).toBe(2)
})

test('a short message of a broker is shown with its source and its consequence', () => {
  const said = (error: Error) => (inWords(error) as Error).message
  for (const error of [new TimeoutError(), new Error('x', { cause: new TimeoutError() })])
    expect(said(error)).toBe('The broker did not answer in time. It is tried again; agents work on.')
  const notEnabled = Object.assign(new Error('jetstream is not enabled'), { name: 'JetStreamNotEnabled' })
  expect(said(notEnabled)).toContain('No broker stores now')
  expect(said(new JetStreamError('no quorum'))).toContain('could not do what it was asked: no quorum.')
  const own = new CodedError('work-failed', 'The file cannot be written.')
  expect(inWords(own)).toBe(own)
  expect(inWords('text')).toBe('text')
})
