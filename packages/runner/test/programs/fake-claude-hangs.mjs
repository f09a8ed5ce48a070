// Hangs where its argument says, and tells by a file that it does: when it is asked for its `version`, only the first time with
// `version-once`, or as soon as it is `started`. Nothing is printed, and no line is heeded.
import { existsSync, writeFileSync } from 'node:fs'
import { answerVersion } from './fake-claude-events.mjs'

const where = process.argv[2]
const sign = `${process.env.FAKE_AGENT}.hangs`
if (where === 'started' || (where === 'version-once' && existsSync(sign))) {
  answerVersion()
  if (process.argv.includes('--help')) process.exit(0)
}
setInterval(() => {}, 1_000_000)
writeFileSync(sign, '')
