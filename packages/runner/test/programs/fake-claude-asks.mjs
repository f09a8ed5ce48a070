// Speaks stream-json like Claude Code and asks, at each message, what its arguments say: the JSON of a request a word.
// Its result is what it was answered.
import { createInterface } from 'node:readline'

const print = value => process.stdout.write(`${JSON.stringify(value)}\n`)
const requests = process.argv.slice(2).filter(word => word.startsWith('{'))
const answers = []

createInterface({ input: process.stdin }).on('line', line => {
  const { type, response } = JSON.parse(line)
  if (type === 'user') print({ type: 'system', subtype: 'init', session_id: 'fake', tools: [] })
  if (type === 'control_response') answers.push(response)
  const next = requests.shift()
  if (next)
    return print({ type: 'control_request', request_id: `q${requests.length}`, request: JSON.parse(next) })
  print({
    type: 'result',
    subtype: 'success',
    is_error: false,
    result: JSON.stringify(answers),
    session_id: 'fake',
  })
})
