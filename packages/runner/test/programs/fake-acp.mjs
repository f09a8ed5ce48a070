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
let loadId
let steered
let model = 'small'
let cost = 0.9
const MODELS = {
  currentModelId: model,
  availableModels: [
    { modelId: 'small', name: 'Small' },
    { modelId: 'large', name: 'Large' },
  ],
}
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
          agentCapabilities: {
            loadSession: true,
            ...(behaviour === 'loads' ? { sessionCapabilities: { resume: {} } } : {}),
            ...(behaviour.startsWith('lists') ? { sessionCapabilities: { list: {} } } : {}),
          },
          ...(behaviour.startsWith('steers') ? { _meta: { steering: { supported: true } } } : {}),
        },
      })
    case 'session/new':
      die('new')
      if (behaviour === 'login')
        return send({ id, error: { code: -32000, message: 'Authentication required' } })
      return send({ id, result: { sessionId: 'one', models: MODELS } })
    case 'session/set_model':
      model = params.modelId
      return send({ id, result: {} })
    case 'session/resume':
      return send({ id, error: { code: -32601, message: 'Method not found' } })
    case '_session/steering':
      if (behaviour === 'steers-asking') return askBefore(message)
      // It reacts, and says only then that it has the message.
      if (behaviour === 'steers-much') for (let i = 0; i < 40; i += 1) text('x'.repeat(50_000))
      text(params.prompt[0].text)
      setTimeout(() => {
        send({
          id,
          result: { outcome: params._meta.steering.idleBehavior === 'promptRequired' && 'injected' },
        })
        send({ id: promptId, result: { stopReason: 'end_turn' } })
      }, 100)
      return
    case 'session/list':
      if (behaviour === 'lists-refused') return send({ id, error: { code: -32603, message: 'no list' } })
      if (behaviour === 'lists-again') return send({ id, result: { sessions: [], nextCursor: 'x' } })
      if (behaviour === 'lists-endless')
        return send({ id, result: { sessions: [], nextCursor: `${params.cursor ?? ''}x` } })
      if (!params.cursor)
        return send({ id, result: { sessions: [{ sessionId: 'zero', cwd: '/' }], nextCursor: 'x' } })
      return send({ id, result: { sessions: behaviour === 'lists' ? [{ sessionId: 'old', cwd: '/' }] : [] } })
    case 'session/load':
      if (behaviour === 'loads' || behaviour.startsWith('lists')) return send({ id, result: {} })
      if (behaviour === 'replays') return replay(id)
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
    case 'asks-longer':
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
            ...(behaviour === 'asks-longer'
              ? [{ optionId: 'p_here', kind: 'allow_always', name: 'Always, here' }]
              : []),
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
    case 'form':
      return send({ id: 'ask', method: 'elicitation/create', params: FORM })
    case 'form-elsewhere':
      send({
        id: 'f1',
        method: 'elicitation/create',
        params: {
          mode: 'url',
          sessionId: 'one',
          elicitationId: 'e',
          url: 'https://a.example',
          message: 'Open',
        },
      })
      return
    case 'withdraws':
      send({
        id: 'ask',
        method: 'session/request_permission',
        params: {
          sessionId: 'one',
          toolCall: { toolCallId: 'c1', title: 'touch x', kind: 'execute', rawInput: { command: 'touch x' } },
          options: [{ optionId: 'yes', kind: 'allow_once', name: 'Yes' }],
        },
      })
      return send({ method: '$/cancel_request', params: { requestId: 'ask' } })
    case 'counts':
      for (const inputTokens of [100, 20])
        update({
          sessionUpdate: 'agent_message_chunk',
          content: { type: 'text', text: '' },
          _meta: { usage: { inputTokens, outputTokens: 5, cachedReadTokens: 1 } },
        })
      return done()
    case 'counts-at-end':
      return send({
        id,
        result: {
          stopReason: 'end_turn',
          _meta: { quota: { token_count: { input_tokens: 7, output_tokens: 3 } } },
        },
      })
    case 'loads':
      cost += 0.1
      update({ sessionUpdate: 'usage_update', used: 1, size: 9, cost: { amount: cost, currency: 'USD' } })
      text(`model ${model}`)
      return done()
    case 'deaf':
    case 'steers':
    case 'steers-much':
    case 'steers-asking':
    case 'waits':
      return
    default:
      return done()
  }
}

// Takes a message only when its own request is answered.
function askBefore({ id, params }) {
  steered = { id, words: params.prompt[0].text }
  send({
    id: 'ask',
    method: 'session/request_permission',
    params: {
      sessionId: 'one',
      toolCall: { toolCallId: 'c1', title: 'touch x', kind: 'execute', rawInput: { command: 'touch x' } },
      options: [{ optionId: 'yes', kind: 'allow_once', name: 'Yes' }],
    },
  })
}

// More than a client keeps unread, and a request whose answer the load waits for.
function replay(id) {
  for (let i = 0; i < 40; i += 1) text('x'.repeat(50_000))
  loadId = id
  send({ id: 'early', method: 'session/request_permission', params: { sessionId: 'one', options: [] } })
}

function answered({ id, result, error }) {
  if (id === 'early') return send({ id: loadId, result: {} })
  if (steered) send({ id: steered.id, result: { outcome: 'injected' } })
  if (steered) text(steered.words)
  if (id === 'ask' && error) text(`error ${error.code}`)
  else if (id === 'ask' && result?.action) text(JSON.stringify(result))
  else if (id === 'ask') text(result?.outcome?.optionId ?? result?.outcome?.outcome)
  if (id === 'f1') text(`file: ${error?.code} `)
  if (id === 't1') text(`terminal: ${error?.code}`)
  if (id !== 'f1' || behaviour === 'form-elsewhere')
    send({ id: promptId, result: { stopReason: 'end_turn' } })
}

const FORM = {
  mode: 'form',
  sessionId: 'one',
  message: 'Where should it go?',
  requestedSchema: {
    type: 'object',
    required: ['place', 'count', 'tags', 'again'],
    properties: {
      place: {
        type: 'string',
        title: 'Place',
        oneOf: [
          { const: 'eu', title: 'Europe' },
          { const: 'us', title: 'America' },
        ],
      },
      count: { type: 'integer', description: 'How many?' },
      tags: { type: 'array', items: { enum: ['a', 'b'] } },
      again: { type: 'boolean' },
      note: { type: 'string' },
    },
  },
}
