// Says that it is there, and stays. With `ignore-term` only SIGKILL ends it, with `orphan-of PID` it waits until that
// process is gone, before it says anything.
import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

if (process.argv.includes('ignore-term')) process.on('SIGTERM', () => {})
setInterval(() => {}, 1_000_000)
const orphanAt = process.argv.indexOf('orphan-of')
// Its number is free once whoever adopted us, or it, has reaped it.
if (orphanAt !== -1) while (isThere(Number(process.argv[orphanAt + 1]))) await pause(5)
writeSync(1, `${JSON.stringify({ ready: process.pid })}\n`)

function isThere(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
