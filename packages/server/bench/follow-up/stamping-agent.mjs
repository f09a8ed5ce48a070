#!/usr/bin/env node
// Speaks stream-json like Claude Code. Its answer to a message is the moment at which it read it.
if (process.argv.includes('--version')) {
  process.stdout.write('2.1.325 (Claude Code)\n')
  process.exit()
}

const print = (...values) =>
  process.stdout.write(
    values.map(value => `${JSON.stringify({ session_id: 'stamps', ...value })}\n`).join(''),
  )
let rest = ''
process.stdin.setEncoding('utf8').on('data', chunk => {
  const at = performance.timeOrigin + performance.now()
  const lines = (rest + chunk).split('\n')
  rest = lines.pop() ?? ''
  for (const line of lines) answer(JSON.parse(line), at)
})

function answer({ type, request_id, uuid, message }, at) {
  if (type === 'control_request')
    return print({ type: 'control_response', response: { subtype: 'success', request_id, response: {} } })
  if (type !== 'user') return
  const said = { role: 'assistant', content: [{ type: 'text', text: String(at) }], id: `m${at}` }
  print(
    { type: 'system', subtype: 'init', tools: [], permissionMode: 'default' },
    { type: 'user', isReplay: true, uuid, message },
    { type: 'assistant', message: said },
    { type: 'result', subtype: 'success', is_error: false, result: String(at) },
  )
}
