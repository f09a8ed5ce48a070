// Prints a result when interrupted, as an agent does, and exits.
import { writeSync } from 'node:fs'

process.on('SIGINT', () => {
  writeSync(1, `${JSON.stringify({ result: 'interrupted' })}\n`)
  process.exit(0)
})
setInterval(() => {}, 1_000_000)
writeSync(1, `${JSON.stringify({ ready: process.pid })}\n`)
