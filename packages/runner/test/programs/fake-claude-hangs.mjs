// Hangs where its argument says, and tells by a file that it does: when it is asked for its `version`, or as soon as it is
// `started`. Nothing is printed, and no line is heeded.
import { writeFileSync } from 'node:fs'
import { answerVersion } from './fake-claude-events.mjs'

const where = process.argv[2]
if (where !== 'version') answerVersion()
setInterval(() => {}, 1_000_000)
writeFileSync(`${process.env.FAKE_AGENT}.hangs`, '')
