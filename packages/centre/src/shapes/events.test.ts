import { fixtureCases, readGolden } from '@chirality/fixtures'
import { expect, test } from 'vitest'
import { uiEvent } from './events.ts'

test('every event that captured output becomes is in the contract, and each with no field beyond it', () => {
  const events = fixtureCases().flatMap(readGolden).map(withTexts)
  expect(events.length).toBeGreaterThan(1000)
  const refused = events.flatMap(event => {
    const { error } = uiEvent.safeParse(event)
    return error ? [`${JSON.stringify(event).slice(0, 300)}: ${error.message.slice(0, 300)}`] : []
  })
  expect(refused).toEqual([])
})

test.each([
  ['an unknown type', { type: 'chat:shout', sessionId: 's', text: 'x' }],
  ['a missing field', { type: 'tool:result', sessionId: 's', toolUseId: 't', content: '' }],
  ['an unknown field', { type: 'turn:end', sessionId: 's', reason: 'completed', because: 'x' }],
  ['an unknown reason', { type: 'turn:end', sessionId: 's', reason: 'bored' }],
  [
    'a piece and the whole of an input',
    { type: 'tool:input', sessionId: 's', toolUseId: 't', delta: '{', input: {} },
  ],
])('an event with %s is not in the contract', (_, event) => {
  expect(uiEvent.safeParse(event).success).toBe(false)
})

/** Golden files have the length and the hash of a long text in its place. */
function withTexts(event: unknown): unknown {
  return JSON.parse(JSON.stringify(event), (_, value: unknown) =>
    typeof value === 'object' && value !== null && '$text' in value ? 'a long text' : value,
  )
}
