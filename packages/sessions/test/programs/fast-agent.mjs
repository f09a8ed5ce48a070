// Speaks like Claude Code with `-p --output-format stream-json`, quickly and without a model: the message backwards and
// forwards in small numbered pieces. `node fast-agent.mjs PIECES …`.
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const [pieces, ...args] = process.argv.slice(2)
const resumed = args[args.indexOf('--resume') + 1]
const session_id = args.includes('--resume') ? resumed : crypto.randomUUID()
let message = ''
for await (const chunk of process.stdin) message += chunk
if (message === '') {
  writeSync(2, 'no message\n')
  process.exit(1)
}

const print = value => writeSync(1, `${JSON.stringify({ ...value, session_id })}\n`)
const stream = event => print({ type: 'stream_event', event })
const text = Array.from({ length: Number(pieces) }, (_, n) => `${message.trim()}-${n} `)
const id = `msg_${message.trim()}`
const usage = { input_tokens: 10, output_tokens: text.length }

print({ type: 'system', subtype: 'init', cwd: process.cwd(), model: 'claude-sonnet-4-5', tools: [] })
stream({
  type: 'message_start',
  message: { id, role: 'assistant', model: 'claude-sonnet-4-5', content: [], usage },
})
stream({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
for (const piece of text) {
  stream({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: piece } })
  await sleep(1)
}
const content = [{ type: 'text', text: text.join('') }]
print({ type: 'assistant', message: { id, role: 'assistant', model: 'claude-sonnet-4-5', content, usage } })
stream({ type: 'content_block_stop', index: 0 })
stream({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage })
stream({ type: 'message_stop' })
const result = { type: 'result', subtype: 'success', is_error: false, result: text.join(''), num_turns: 1 }
print({ ...result, total_cost_usd: 0.01, usage, duration_ms: 1 })
