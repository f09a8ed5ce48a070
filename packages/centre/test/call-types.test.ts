import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { mutation, query } from '../src/call.ts'
import { CALLS, EVERY_CALL } from '../src/calls.ts'

const ofSession = z.strictObject({ sessionId: z.string() })
const several = z.strictObject({ sessionIds: z.array(z.string()) })
const words = { about: 'Counts.', output: z.number(), run: () => 1 }

test('a call about a session does not compile without the place where it runs', () => {
  query({ ...words, input: ofSession, where: 'owner' })
  // @ts-expect-error It has a session, and no place.
  query({ ...words, input: ofSession })
  // @ts-expect-error An optional session is one, too.
  query({ ...words, input: ofSession.partial().optional() })
  // @ts-expect-error Several sessions are for eachSession.
  mutation({ ...words, input: several, where: 'owner' })
  // @ts-expect-error Without a session there is no owner.
  query({ ...words, where: 'owner' })
  expect(query(words).where).toBe('here')
})

test('a handler that answers something else than its schema does not compile', () => {
  // @ts-expect-error It is a number by its schema.
  query({ ...words, run: () => 'one' })
  expectTypeOf(CALLS.turns.start.run).parameter(1).toHaveProperty('message').toEqualTypeOf<string>()
})

test('every call with a session has a place, and says what it does in one sentence', () => {
  for (const [path, call] of EVERY_CALL) {
    expect(call.about, path).toMatch(/^[A-Z].*\.$/s)
    if (call.kind === 'subscription' || !(call.input instanceof z.ZodObject)) continue
    if ('sessionId' in call.input.shape) expect(['here', 'owner', 'mirror'], path).toContain(call.where)
    if ('sessionIds' in call.input.shape) expect(call.where, path).toBe('each')
  }
})

/** The calls that hubs may ask of another machine: one that is added here is one more that a hub can do. */
test('hubs can ask for these calls, and for no other', () => {
  const asked = [...EVERY_CALL].flatMap(([path, call]) =>
    'where' in call && ['owner', 'each', 'named'].includes(call.where) ? [path] : [],
  )
  expect(asked.sort()).toEqual(ASKED.sort())
})

const of = (feature: string, names: string) => names.split(' ').map(name => `${feature}.${name}`)
const ASKED = [
  ...of('turns', 'start send steer interrupt kill leftovers prewarm setPermissionMode contextUsage'),
  ...of('turns.queue', 'list edit move remove clear hold release'),
  ...of('files', 'tree find read status diff turnDiff blame'),
  ...of('sessions', 'create rename configure nativeLines nativeLine images fork forkHistory'),
  ...of('sessions', 'shelve discard restore delete'),
  ...of('review', 'state branchDiff file discard undo redo commit merge resolve'),
  ...of('review', 'pushPlan push backPlan back undoBack'),
  ...['decisions.answer', 'budgets.setSession'],
]
