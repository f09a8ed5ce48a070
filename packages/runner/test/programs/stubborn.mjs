// Ignores the signals it is given the names of, says so, and stays.
import { writeSync } from 'node:fs'

for (const signal of process.argv.slice(2)) process.on(signal, () => {})
setInterval(() => {}, 1_000_000)
writeSync(1, `${JSON.stringify({ ready: process.pid })}\n`)
