// Prints records that say when they were written, on the monotonic clock that all processes share.
import { writeSync } from 'node:fs'

const [count, gapMs] = process.argv.slice(2).map(Number)
let n = 0
const timer = setInterval(() => {
  writeSync(1, `{"type":"stamp","n":${n},"at":${process.hrtime.bigint()}}\n`)
  n += 1
  if (n === count) clearInterval(timer)
}, gapMs)
