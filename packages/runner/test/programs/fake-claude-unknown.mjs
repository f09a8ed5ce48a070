// A release from the future.
import { init, print, result, SESSION, said } from './fake-claude-events.mjs'

print(init({ telepathy: true }))
print({ type: 'telepathy', thought: 'hello', session_id: SESSION })
print({ type: 'system', subtype: 'mood_changed', mood: 'good', session_id: SESSION })
print(said('Hello.'))
print(result('Hello.', { quantum_state: 'up' }))
