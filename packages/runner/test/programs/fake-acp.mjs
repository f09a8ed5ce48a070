#!/usr/bin/env node
// An agent of the Agent Client Protocol that behaves as FAKE_ACP says.
const behaviour = process.env.FAKE_ACP ?? 'good'
const send = message => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const update = update => send({ method: 'session/update', params: { sessionId: 'one', update } })
const text = words => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: words } })
const die = state => behaviour === `dies-${state}` && process.exit(3)
if (behaviour === 'no-json') process.stdout.write('Welcome!\nI am no agent.\n')
if (behaviour === 'no-json') process.exit(0)
if (behaviour === 'deaf') process.on('SIGTERM', () => {})
die('start')

let buffer = ''
let promptId
process.stdin.on('data', data => {
  buffer += data
  const lines = buffer.split('\n')
  buffer = lines.pop()
  for (const line of lines) hear(JSON.parse(line))
})
process.stdin.on('end', () => behaviour === 'deaf' || process.exit(0))

function hear(message) {
  const { id, method, params } = message
  switch (method) {
    case 'initialize':
      die('initialize')
      if (behaviour === 'silent') return
      return send({
        id,
        result: {
          protocolVersion: behaviour === 'protocol-99' ? 99 : 1,
          agentCapabilities: { loadSession: true },
        },
      })
    case 'session/new':
      die('new')
      if (behaviour === 'login')
        return send({ id, error: { code: -32000, message: 'Authentication required' } })
      return send({ id, result: { sessionId: 'one' } })
    case 'session/load':
      return send({ id, error: { code: -32002, message: 'no such session' } })
    case 'session/cancel':
      if (behaviour !== 'deaf') send({ id: promptId, result: { stopReason: 'cancelled' } })
      return
    case 'session/prompt':
      promptId = id
      return prompt(id, params)
    default:
      if (method === undefined) answered(message)
  }
}

function prompt(id) {
  const done = () => send({ id, result: { stopReason: 'end_turn' } })
  die('prompt')
  text('Hello. ')
  die('text')
  switch (behaviour) {
    case 'asks':
    case 'asks-many':
    case 'dies-asking':
      update({
        sessionUpdate: 'tool_call',
        toolCallId: 'c1',
        title: 'touch x',
        kind: 'execute',
        rawInput: { command: ['touch', 'x y'] },
      })
      send({
        id: 'ask',
        method: 'session/request_permission',
        params: {
          sessionId: 'one',
          toolCall: { toolCallId: 'c1' },
          options: [
            { optionId: 'p_always', kind: 'allow_always', name: 'Always, everywhere' },
            { optionId: 'p_once', kind: 'allow_once', name: 'Just now' },
            ...(behaviour === 'asks-many'
              ? [{ optionId: 'p_sudo', kind: 'allow_once', name: 'As root' }]
              : []),
            { optionId: 'n_once', kind: 'reject_once', name: 'No' },
          ],
        },
      })
      if (behaviour === 'dies-asking') process.exit(3)
      return
    case 'files':
      send({ id: 'f1', method: 'fs/read_text_file', params: { sessionId: 'one', path: '/etc/passwd' } })
      send({ id: 't1', method: 'terminal/create', params: { sessionId: 'one', command: 'id' } })
      return
    case 'wrong-ids':
      send({ id: 4711, result: { stopReason: 'end_turn' } })
      send({ id: null, result: {} })
      send({
        method: 'session/update',
        params: {
          sessionId: 'other',
          update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'not yours' } },
        },
      })
      update({ sessionUpdate: 'tool_call_update', toolCallId: 'never-began', status: 'completed' })
      update({ sessionUpdate: 'from_the_future', value: 1 })
      return done()
    case 'twice':
      done()
      return done()
    case 'huge':
      text('x'.repeat(20_000_000))
      return done()
    case 'flood':
      for (let i = 0; i < 30_000; i += 1) text(`${i} `)
      return done()
    case 'works':
      update({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'Let me see.' } })
      update({
        sessionUpdate: 'plan',
        entries: [
          { content: 'Look', status: 'completed' },
          { content: 'Write', status: 'in_progress' },
        ],
      })
      update({
        sessionUpdate: 'tool_call',
        toolCallId: 'e1',
        title: 'Edit a.txt',
        kind: 'edit',
        status: 'in_progress',
        locations: [{ path: '/p/a.txt' }],
      })
      update({
        sessionUpdate: 'tool_call_update',
        toolCallId: 'e1',
        status: 'completed',
        content: [{ type: 'diff', path: '/p/a.txt', oldText: 'one', newText: 'two' }],
      })
      update({ sessionUpdate: 'usage_update', used: 100, size: 1000, cost: { amount: 0.5, currency: 'USD' } })
      text('Done.')
      return done()
    case 'deaf':
    case 'waits':
      return
    default:
      return done()
  }
}

function answered({ id, result, error }) {
  if (id === 'ask') text(result?.outcome?.optionId ?? result?.outcome?.outcome ?? 'error')
  if (id === 'f1') text(`file: ${error?.code} `)
  if (id === 't1') text(`terminal: ${error?.code}`)
  if (id !== 'f1') send({ id: promptId, result: { stopReason: 'end_turn' } })
}
