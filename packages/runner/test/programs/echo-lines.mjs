// Prints every line of its stdin, one at a time, until stdin ends.
import { writeSync } from 'node:fs'

let rest = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', chunk => {
  const lines = (rest + chunk).split('\n')
  rest = lines.pop()
  for (const line of lines) writeSync(1, `${line}\n`)
})
