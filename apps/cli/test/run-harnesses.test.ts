import { describe, expect, test } from 'vitest'
import { jsonLines } from './support/running-command.ts'
import { createWorld } from './support/world.ts'

describe('chirality run', () => {
  test.each(['messages-api', 'agent-sdk'])(
    '--harness %s runs a turn, and the session keeps it',
    async harness => {
      const { run } = await createWorld({ answers: ['Noted: 42.', 'It was 42.'] })
      const first = await run(['run', 'Remember 42', '--json', '--harness', harness])
      expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: '' })
      const envelopes = jsonLines(first.stdout)
      const events = envelopes.map(({ event }) => event)
      expect(events.find(({ type }) => type === 'session:init')).toMatchObject({ harness })
      expect(events.find(({ type }) => type === 'chat:message')).toMatchObject({ text: 'Noted: 42.' })
      expect(events.filter(({ type }) => type === 'turn:end')).toMatchObject([{ reason: 'completed' }])

      const session = envelopes[0]?.event.sessionId ?? ''
      const second = await run(['run', 'Which?', '--session', session])
      expect({ code: second.code, stderr: second.stderr }).toEqual({ code: 0, stderr: '' })
      expect(second.stdout).toContain('It was 42.')
    },
  )
})
