import { expect, test } from 'vitest'
import { sessionRecord } from './sessions.ts'

test.each([null, 'text', [], {}, { lastLine: 7 }])(
  'a session of another machine with the progress %j is refused: its last line is shown',
  progress => {
    expect(sessionRecord.shape.progress.safeParse(progress).success).toBe(false)
  },
)

test('a progress with fields that only a newer version knows is taken', () => {
  expect(sessionRecord.shape.progress.safeParse({ lastLine: null, later: 1 }).success).toBe(true)
})
