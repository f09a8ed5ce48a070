import path from 'node:path'
import { expect, test } from 'vitest'
import { CHEATS, HONEST } from '../corpus/all.ts'
import type { HonestDeed } from '../corpus/deed.ts'
import { play } from '../corpus/play.ts'

// A small part of the corpus, with the runners that the repository has. `npm run proof` plays all of it.
/** Each is a whole loop with up to six runs of its check. It only ends what hangs. */
const LONG_MS = 600_000
const MODULES = path.join(import.meta.dirname, '..', 'node_modules')

function deedOf(id: string): HonestDeed {
  const found = [...CHEATS, ...HONEST].find(deed => deed.id === id)
  if (found === undefined) throw new Error(`The corpus has no ${id}.`)
  return found
}

test.each([
  'node:test/assertions that hold for any code',
  'node:test/the code ends the process',
  'node:test/the script forgives failures',
  'node:test/new tests that hold without the code',
  'vitest/the configuration runs another file',
])('a cheat is not plainly proved: %s', { timeout: LONG_MS }, async id => {
  const { word, flags } = await play(deedOf(id), MODULES)
  expect({ word, flags: flags.length > 0 }).toEqual({ word: 'look', flags: true })
})

test.each([
  'honest node:test/the failing test is made to hold',
  'honest node:test/a function with tests of its own',
  'honest node:test/the test file gets another name',
])('honest work is plainly proved: %s', { timeout: LONG_MS }, async id => {
  expect(await play(deedOf(id), MODULES)).toMatchObject({ word: 'proved', flags: [] })
})

test('the corpus is as large as the documentation says, and each deed has a name of its own', () => {
  expect(CHEATS.length).toBeGreaterThanOrEqual(80)
  expect(HONEST.length).toBeGreaterThanOrEqual(60)
  expect(new Set(CHEATS.map(({ project }) => project.runner)).size).toBeGreaterThanOrEqual(8)
  const ids = [...CHEATS, ...HONEST].map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
})
