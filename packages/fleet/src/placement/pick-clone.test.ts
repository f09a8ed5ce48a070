import { expect, test } from 'vitest'
import { type CloneFacts, pickClone } from './pick-clone.ts'

const clone = (project: string, facts: Partial<CloneFacts> = {}): CloneFacts => ({
  project,
  wasHere: false,
  isSamePath: false,
  isClean: true,
  isBusy: false,
  ...facts,
})

const picked = (...clones: CloneFacts[]) => {
  const { clone: one, why } = pickClone(clones) ?? {}
  return [one?.project, why]
}

test('the first rule by which several clones differ decides, and is the reason', () => {
  expect(pickClone([])).toBeUndefined()
  expect(picked(clone('/a'))).toEqual(['/a', 'the only clone'])
  expect(picked(clone('/a'), clone('/b'))).toEqual(['/a', 'the first of 2 clones that fit alike'])
  const dirty = { isClean: false }
  expect(picked(clone('/a', dirty), clone('/b'))).toEqual([
    '/b',
    'the only one without uncommitted changes, of 2 clones',
  ])
  expect(picked(clone('/a', { isBusy: true }), clone('/b'), clone('/c', dirty))).toEqual([
    '/b',
    'the only one in which no agent is at work, of 2 clones without uncommitted changes',
  ])
  // A clean one at work is before one at rest with changes: those would be beside the work.
  expect(picked(clone('/a', dirty), clone('/b', { isBusy: true }))[0]).toBe('/b')
  expect(picked(clone('/a'), clone('/b', { isSamePath: true, ...dirty }))[0]).toBe('/b')
  expect(picked(clone('/a', { isSamePath: true }), clone('/b', { wasHere: true, isBusy: true }))[0]).toBe(
    '/b',
  )
  expect(picked(clone('/a', dirty), clone('/b', dirty))).toEqual([
    '/a',
    'the first of 2 clones that fit alike',
  ])
})
