// Closes its stdin without reading, says so, and stays until it is stopped.
import { closeSync, writeSync } from 'node:fs'

closeSync(0)
setInterval(() => {}, 1_000_000)
writeSync(1, `${JSON.stringify({ ready: process.pid })}\n`)
