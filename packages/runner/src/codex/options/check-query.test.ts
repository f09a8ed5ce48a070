import type { HarnessQuery } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { checkThread, heldThreadAdvice, isLostThread } from './check-query.ts'

const ID = '01A1e299-f6ed-7c52-bac1-135cf1f26a6e'
const query = (fields: Partial<HarnessQuery>) => fields as HarnessQuery

describe('the thread of a query', () => {
  test.each([
    {},
    { resumeSessionId: ID },
    { resumeSessionId: ID, forkSession: true },
    { forkSession: false },
  ])('%j is taken', fields => {
    expect(() => checkThread(query(fields))).not.toThrow()
  })

  test.each([
    { resumeSessionId: 'name' },
    { resumeSessionId: '' },
    { resumeSessionId: `${ID}x` },
    { resumeSessionId: '--last' },
    { forkSession: true },
  ])('%j is refused', fields => {
    expect(() => checkThread(query(fields))).toThrow(expect.objectContaining({ code: 'invalid_query' }))
  })
})

describe("Codex's words", () => {
  test.each([
    ['Error: thread/resume: thread/resume failed: no rollout found for thread id 1 (code -32600)', true],
    ['no rollout found for conversation id 1', true],
    ['thread not loaded: 1', true],
    ['thread not found: 1', true],
    ['model not found', false],
    ['', false],
  ])('%j: lost %s', (said, lost) => {
    expect(isLostThread(said)).toBe(lost)
  })

  test('a held thread brings advice with its id', () => {
    expect(heldThreadAdvice('thread 1 already has an active writer', ID)).toContain(ID)
    expect(heldThreadAdvice('something else', ID)).toBeUndefined()
  })
})
