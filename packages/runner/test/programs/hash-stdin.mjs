// Reads all of stdin and prints how long it was and its hash.
import { createHash } from 'node:crypto'

const hash = createHash('sha256')
let bytes = 0
for await (const chunk of process.stdin) {
  bytes += chunk.length
  hash.update(chunk)
}
console.log(JSON.stringify({ bytes, sha256: hash.digest('hex') }))
