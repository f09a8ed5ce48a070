// Begins and never goes on. Ignores the signals that the test names.
import { init, print, testArguments } from './fake-claude-events.mjs'

for (const signal of testArguments()) process.on(signal, () => {})
setInterval(() => {}, 1_000_000)
print(init())
