// Speaks like Claude Code with `--output-format stream-json`, quickly and without a model: the message in small numbered
// pieces. `node fast-agent.mjs PIECES …`. With `--input-format stream-json` it answers one message after the other until
// its input ends.
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const [pieces, ...args] = process.argv.slice(2)
const resumed = args[args.indexOf('--resume') + 1]
const session_id = args.includes('--resume') ? resumed : crypto.randomUUID()
const print = value => writeSync(1, `${JSON.stringify({ ...value, session_id })}\n`)
const stream = event => print({ type: 'stream_event', event })
let spentUsd = 0

if (args.includes('--input-format')) await serve()
else await answer(await text(process.stdin))

async function serve() {
  for await (const line of createInterface({ input: process.stdin })) {
    const { type, request_id, message, uuid } = JSON.parse(line)
    if (type === 'control_request')
      print({ type: 'control_response', response: { subtype: 'success', request_id, response: {} } })
    if (type !== 'user') continue
    print({ type: 'user', message, uuid, isReplay: true })
    const { content } = message
    await answer(typeof content === 'string' ? content : content.map(block => block.text ?? '').join(''))
  }
}

async function answer(prompt) {
  const message = prompt.trim()
  if (message === '') {
    writeSync(2, 'no message\n')
    process.exit(1)
  }
  const said = Array.from({ length: Number(pieces) }, (_, n) => `${message}-${n} `)
  const id = `msg_${message}`
  const usage = { input_tokens: 10, output_tokens: said.length }
  print({ type: 'system', subtype: 'init', cwd: process.cwd(), model: 'claude-sonnet-4-5', tools: [] })
  stream({
    type: 'message_start',
    message: { id, role: 'assistant', model: 'claude-sonnet-4-5', content: [], usage },
  })
  stream({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
  for (const piece of said) {
    stream({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: piece } })
    await sleep(1)
  }
  const content = [{ type: 'text', text: said.join('') }]
  print({ type: 'assistant', message: { id, role: 'assistant', model: 'claude-sonnet-4-5', content, usage } })
  stream({ type: 'content_block_stop', index: 0 })
  stream({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage })
  stream({ type: 'message_stop' })
  const result = { type: 'result', subtype: 'success', is_error: false, result: said.join(''), num_turns: 1 }
  // Of all that this process did.
  spentUsd += 0.01
  print({ ...result, total_cost_usd: spentUsd, usage, duration_ms: 1 })
}

async function text(input) {
  let all = ''
  for await (const chunk of input) all += chunk
  return all
}
