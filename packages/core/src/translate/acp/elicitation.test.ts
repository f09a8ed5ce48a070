import { expect, test } from 'vitest'
import { elicitationContent, formRequest } from './elicitation.ts'

const form = (property: object, required = ['field']) => ({
  requestedSchema: { type: 'object', required, properties: { field: property } },
})
const LABELS = ['A — one, two', 'A', 'B']
const several = form({
  type: 'array',
  items: { anyOf: LABELS.map((title, index) => ({ const: `v${index}`, title })) },
})

test.each([
  ['A — one, two, B', ['v0', 'v2']],
  ['B, A — one, two, A', ['v2', 'v0', 'v1']],
  ['A', ['v1']],
])('labels with commas are told apart: %s', (field, values) => {
  expect(elicitationContent(several, { field })).toEqual({ field: values })
})

test.each(['C', 'A, C', 'A — one', 'A,B', ', '])('what is no list of labels is no answer: %s', field => {
  expect(elicitationContent(several, { field })).toContain('is no answer to "field"')
})

test.each<[string, object, true | undefined]>([
  ['an array', several, true],
  ['a list of values', form({ type: 'string', enum: ['x', 'y'] }, []), true],
  ['yes or no', form({ type: 'boolean' }), true],
  ['a text', form({ type: 'string' }), undefined],
  ['a number that may be left out', form({ type: 'integer' }, []), undefined],
])('a field with choices takes nothing else: %s', (_what, params, onlyOptions) => {
  expect(formRequest({ ...params })?.facts?.questions?.[0]?.onlyOptions).toBe(onlyOptions)
})

test('a chosen number is the value of its label', () => {
  const sizes = form({ type: 'integer', enum: [1, 2], enumNames: ['Small', 'Large'] })
  expect(elicitationContent(sizes, { field: 'Large' })).toEqual({ field: 2 })
})
