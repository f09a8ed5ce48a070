import { expect, test } from 'vitest'
import { forkPlaces } from './fork-places.logic.ts'

const offer = (machine: string, isThis: boolean, problem: string | null = null) => ({
  ...{ machine, isThis, problem, project: problem === null ? `/srv/${machine}` : null },
})

test('a fork works where its session is, or on another machine that fits; the others say why not', () => {
  const offers = [offer('desk', true), offer('build-1', false), offer('build-2', false, 'waits: no slot')]
  const placement = { machine: 'desk', why: '', offers }
  expect(forkPlaces(placement, undefined)).toEqual([
    { value: '', label: 'This machine' },
    { value: 'build-1', label: 'build-1', detail: '/srv/build-1', disabled: false },
    { value: 'build-2', label: 'build-2', detail: 'waits: no slot', disabled: true },
  ])
  expect(forkPlaces(placement, 'build-1')?.map(({ label }) => label)).toEqual([
    ...['build-1', 'desk (this machine)', 'build-2'],
  ])
})

test('without another machine there is nothing to choose', () => {
  expect(forkPlaces(null, undefined)).toBeUndefined()
  expect(forkPlaces({ machine: 'desk', why: '', offers: [offer('desk', true)] }, undefined)).toBeUndefined()
})
