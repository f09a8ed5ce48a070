import type { UIEvent } from '@chirality/core'
import { init, type TurnScript } from './scripted-harness.ts'

/** A dollar a token. */
export const prices = { 'claude-sonnet': { input: 1e6, output: 1e6, cacheRead: 0, cacheWrite: 0 } }

export const spends = (sessionId: string, tokens: number, parentToolUseId?: string): UIEvent => ({
  type: 'usage',
  sessionId,
  usage: { input_tokens: tokens, output_tokens: 0 },
  ...(parentToolUseId === undefined ? {} : { parentToolUseId }),
})
export const calls = (sessionId: string, toolUseId: string, parentToolUseId?: string): UIEvent => ({
  type: 'tool:start',
  sessionId,
  toolUseId,
  name: 'Bash',
  input: { command: 'ls' },
  ...(parentToolUseId === undefined ? {} : { parentToolUseId }),
})
export const result = (sessionId: string, toolUseId: string, parentToolUseId?: string): UIEvent => ({
  type: 'tool:result',
  sessionId,
  toolUseId,
  content: '',
  isError: false,
  ...(parentToolUseId === undefined ? {} : { parentToolUseId }),
})

/** Does all of `events` unless it is stopped in between, as an agent is that is asked to. */
export function works(events: (sessionId: string) => UIEvent[]): TurnScript {
  return async function* ({ session: { id: sessionId }, message, stopped }) {
    let stop: string | undefined
    void stopped.then(how => {
      stop = how
    })
    yield { type: 'turn:start', sessionId, message }
    yield init(sessionId)
    for (const event of events(sessionId)) {
      yield event
      await Promise.resolve()
      if (stop) break
    }
    const reason = stop ? 'interrupted' : 'completed'
    yield { type: 'turn:end', sessionId, reason }
  }
}
