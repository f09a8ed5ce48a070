import { expect, test } from 'vitest'
import { whereOf } from './where.logic.ts'

const offers = [
  { machine: 'desk', isThis: true, project: '/home/me/shop', problem: null },
  { machine: 'build', isThis: false, project: '/srv/shop', problem: null },
  { machine: 'old', isThis: false, project: null, problem: 'waits: shop is not on old' },
]
const placement = { machine: 'build', why: 'most room: 2 of 2 slots free', offers }

test('there is nothing to choose without another machine', () => {
  expect(whereOf(undefined)).toBeUndefined()
  expect(whereOf(null)).toBeUndefined()
  expect(whereOf({ ...placement, offers: offers.slice(0, 1) })).toBeUndefined()
})

test('without a choice a session runs on this machine, and a machine that does not fit says why', () => {
  const where = whereOf(placement)
  expect(where).toMatchObject({ value: '', waits: false })
  expect(where?.elsewhere).toBeUndefined()
  expect(where?.options.map(({ label, detail, disabled }) => [label, detail, disabled])).toEqual([
    ['This machine', undefined, undefined],
    ['Where there is room', 'build: most room: 2 of 2 slots free', undefined],
    ['build', '/srv/shop', false],
    ['old', 'waits: shop is not on old', true],
  ])
})

test('a session goes to the machine that was chosen, or that has room, under the folder there', () => {
  expect(whereOf(placement, 'build')?.elsewhere).toEqual({ machine: 'build', project: '/srv/shop' })
  const any = whereOf(placement, '*')
  expect(any?.elsewhere).toEqual({ machine: 'build', project: '/srv/shop' })
  expect(any?.hint).toBe('build: most room: 2 of 2 slots free')
  expect(whereOf({ ...placement, machine: 'desk' }, '*')?.elsewhere).toBeUndefined()
})

test('nothing begins while no machine has room', () => {
  const where = whereOf({ machine: null, why: 'waits: no slot is free on desk, build', offers }, '*')
  expect(where).toMatchObject({ waits: true, hint: 'waits: no slot is free on desk, build' })
})
