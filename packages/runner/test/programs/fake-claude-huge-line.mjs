// One line of the given number of megabytes, twice: as the message and as the result.
import { init, print, result, said, testArguments } from './fake-claude-events.mjs'

const text = 'x'.repeat(Number(testArguments()[0]) * 1024 * 1024)
print(init())
print(said(text))
print(result(text))
