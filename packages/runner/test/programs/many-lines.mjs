// Prints numbered records, one write each, on stdout or (`stderr`) on stderr.
import { writeSync } from 'node:fs'

const [count, target] = process.argv.slice(2)
const fd = target === 'stderr' ? 2 : 1
for (let n = 0; n < Number(count); n += 1) writeSync(fd, `${JSON.stringify({ n })}\n`)
