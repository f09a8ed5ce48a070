// Says that it is there, and stays. With `ignore-term` only SIGKILL ends it.
import { writeSync } from 'node:fs'

if (process.argv.includes('ignore-term')) process.on('SIGTERM', () => {})
setInterval(() => {}, 1_000_000)
writeSync(1, `${JSON.stringify({ ready: process.pid })}\n`)
