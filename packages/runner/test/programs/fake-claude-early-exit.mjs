// Begins, complains and gives up.
import { writeSync } from 'node:fs'
import { init, print } from './fake-claude-events.mjs'

print(init())
writeSync(2, 'fatal: the disk is on fire\n')
process.exitCode = 7
